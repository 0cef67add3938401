//! Golden files of whole screens, and drawing at every size and in every state.

use std::{sync::LazyLock, time::Duration};

use ratatui::{Terminal, backend::TestBackend, style::Color};
use waggle_analysis::{TrialSoFar, cell_so_far};
use waggle_load::{Interval, StepCounts, StepInterval};
use waggle_results::PhaseName;
use waggle_spec::{LevelKind, StepTimes, TimeKind};
use waggle_stats::{Evidence, Finding, Reason, Verdict};

use super::{
    board::{CellBoard, Mark, PhaseNow, StudyBoard, TrialNow},
    draw::{Frame, Page, Palette, draw},
    history::TimeRange,
    view_model::ViewModel,
};
use crate::{
    commands::load::tests::{Planned, plan_of_flags, replay, title},
    output::golden::golden,
    trial::{
        aggregate::histogram,
        generated::{CALM, IntervalSpec, interval},
        phase::Phase,
        sides::Side,
        so_far::SoFar,
    },
};

/// The view of a load with these intervals.
fn show_planned(planned: &Planned, intervals: &[Interval]) -> ViewModel {
    let title = title("http://127.0.0.1:8080/hello", planned);
    let mut model = ViewModel::new(title, &planned.shape);
    let mut so_far = SoFar::new(planned.shape.clone());
    for interval in intervals {
        let phase = if interval.start < planned.warm_up {
            Phase::WarmUp
        } else {
            Phase::Measured
        };
        so_far.add(interval, phase);
        model.add(interval, phase, &so_far);
    }
    if !intervals.is_empty() {
        model.judge(&so_far);
    }
    model
}

fn show_flags(flags: &[&str], intervals: &[IntervalSpec]) -> ViewModel {
    let (_, planned) = plan_of_flags(flags);
    let mut waiting = 0;
    let intervals: Vec<Interval> = (0..)
        .zip(intervals)
        .map(|(index, made)| interval(index, *made, &mut waiting))
        .collect();
    show_planned(&planned, &intervals)
}

fn frame(model: &ViewModel, page: Page) -> Frame<'_> {
    Frame {
        study: None,
        model,
        duet: None,
        side: Side::First,
        elapsed: model.seen_until,
        page,
        range: TimeRange::Whole,
        palette: Palette::Coloured,
        is_paused: false,
        asked_to_end: 0,
        may_leave: false,
        with_help: false,
    }
}

fn screen(frame: &Frame<'_>, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|target| draw(frame, target.area(), target.buffer_mut()))
        .unwrap();
    terminal.backend().clone()
}

/// The text without spaces at the ends of lines.
fn letters(screen: &TestBackend) -> String {
    let buffer = screen.buffer();
    let mut text = String::new();
    for row in 0..buffer.area.height {
        let line: String = (0..buffer.area.width)
            .map(|column| buffer[(column, row)].symbol())
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A load that is slower in the middle and has failures at the end. Computed once, because replaying is quadratic.
fn eventful() -> ViewModel {
    static SHOWN: LazyLock<ViewModel> = LazyLock::new(make_eventful);
    SHOWN.clone()
}

fn make_eventful() -> ViewModel {
    let slow = IntervalSpec {
        answers: 900,
        us: 3_000,
        ..CALM
    };
    let failing = IntervalSpec {
        answers: 1_400,
        failures: 90,
        ..CALM
    };
    let intervals: Vec<IntervalSpec> = [CALM; 12]
        .into_iter()
        .chain([slow; 4])
        .chain([CALM; 6])
        .chain([failing; 6])
        .collect();
    show_flags(&["-c", "4", "-d", "9s", "--warm-up", "1s"], &intervals)
}

#[test]
fn screens_match_golden_files() {
    let model = eventful();
    let check = |name: &str, page: Page, (width, height): (u16, u16)| {
        golden(name, &letters(&screen(&frame(&model, page), width, height)));
    };
    check("live-overview-80x24.txt", Page::Overview, (80, 24));
    check("live-overview-140x45.txt", Page::Overview, (140, 45));
    check("live-times-80x24.txt", Page::Times, (80, 24));
    check("live-details-80x24.txt", Page::Details, (80, 24));
    check("live-narrow-40x16.txt", Page::Overview, (40, 16));
}

#[test]
fn overload_is_shown() {
    let behind = IntervalSpec { late: 250, ..CALM };
    let flags = ["-R", "9000", "--arrivals", "uniform", "-c", "4", "-d", "9s"];
    let model = show_flags(&flags, &[behind; 20]);
    let text = letters(&screen(&frame(&model, Page::Overview), 100, 30));
    golden("live-overloaded-100x30.txt", &text);
    assert!(text.contains("verdict so far overloaded"), "{text}");
}

#[test]
fn steps_have_their_own_figures() {
    let mut model = eventful();
    let (_, planned) = plan_of_flags(&["-c", "4", "-d", "9s"]);
    let mut waiting = 0;
    let mut scenario = interval(0, CALM, &mut waiting);
    let mut times = StepTimes::from_fn(|_| histogram());
    times[TimeKind::Response].record_n(700, 500).unwrap();
    scenario.steps = vec![StepInterval {
        counts: StepCounts {
            sent: 510,
            succeeded: 500,
            failed: 10,
            ..StepCounts::default()
        },
        times,
    }];
    model.steps = vec![super::view_model::Step::new("log in")];
    let so_far = replay(&planned, std::slice::from_ref(&scenario));
    model.add(&scenario, Phase::Measured, &so_far);
    let text = letters(&screen(&frame(&model, Page::Details), 120, 30));
    let line = text.lines().find(|line| line.contains("log in"));
    let words: Vec<&str> = line.unwrap().split_whitespace().rev().take(6).collect();
    assert_eq!(words, ["10", "µs", "700", "µs", "700", "2.00k/s"], "{text}");
}

#[test]
fn every_size_and_state_is_drawn() {
    let nothing = show_flags(&["-n", "100"], &[]);
    let refused = IntervalSpec {
        answers: 0,
        failures: 40,
        ..CALM
    };
    let refused = show_flags(&["-c", "4", "-n", "160"], &[refused; 4]);
    let eventful = eventful();
    for model in [&nothing, &refused, &eventful] {
        for page in [Page::Overview, Page::Times, Page::Details] {
            for range in [TimeRange::Whole, TimeRange::Latest] {
                for size in [
                    (1, 1),
                    (10, 3),
                    (63, 19),
                    (64, 20),
                    (80, 24),
                    (200, 20),
                    (64, 90),
                ] {
                    let frame = Frame {
                        range,
                        with_help: true,
                        is_paused: true,
                        asked_to_end: 2,
                        ..frame(model, page)
                    };
                    screen(&frame, size.0, size.1);
                }
            }
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let model = eventful();
    for page in [Page::Overview, Page::Times, Page::Details] {
        let colours = |palette: Palette| {
            let screen = screen(
                &Frame {
                    palette,
                    ..frame(&model, page)
                },
                100,
                40,
            );
            let cells = screen.buffer().content().iter();
            cells
                .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
                .count()
        };
        assert_eq!(colours(Palette::Plain), 0, "{page:?}");
        assert!(colours(Palette::Coloured) > 20, "{page:?}");
    }
}

#[test]
fn progress_is_shown_by_time_or_count() {
    let check = |flags: &[&str], expected: &str| {
        let model = show_flags(flags, &[CALM; 4]);
        let text = letters(&screen(&frame(&model, Page::Overview), 80, 24));
        assert!(text.contains(expected), "{text}");
    };
    check(&["-c", "4", "-d", "9s"], "1.0 s of 9.0 s · 8.0 s left");
    check(
        &["-c", "4", "-d", "9s", "--warm-up", "2s"],
        "warm-up, not counted",
    );
    check(
        &["-c", "4", "-n", "16000"],
        "1.0 s · 8,000 of 16,000 requests",
    );
}

fn overload_reason() -> Reason {
    Reason {
        verdict: Verdict::Overloaded,
        finding: Finding::NothingSent,
    }
}

/// A study in its second round of trials; the running trial is [`eventful`].
fn study(cells: u32) -> StudyBoard {
    let cell = |number: u32| {
        let trials: Vec<TrialSoFar> = (0..if number < 3 { 2 } else { 1 })
            .map(|repetition| TrialSoFar {
                reasons: if number == 2 {
                    vec![overload_reason()]
                } else {
                    Vec::new()
                },
                goodput_per_s: Some(f64::from(number * 1_000 + repetition * 20)),
                asked: Vec::new(),
            })
            .collect();
        let marks = trials.iter().map(|trial| Mark::Judged(trial.verdict()));
        CellBoard {
            number,
            levels: vec![(10 * number).to_string(), "lines".to_owned()],
            planned: 2,
            marks: marks.collect(),
            so_far: cell_so_far(&trials),
            met: None,
            found: None,
        }
    };
    StudyBoard {
        searched: None,
        name: "ingest".to_owned(),
        question: "How many readings a second does it take?".to_owned(),
        trials: 2 * cells,
        done: cells + 2,
        left: Duration::from_secs(95),
        left_at: Duration::from_secs(4),
        factors: vec!["connections".to_owned(), "format".to_owned()],
        cells: (1..=cells).map(cell).collect(),
        now: Some(TrialNow {
            partner: None,
            cell: 2,
            which: "repetition 2 of 2".to_owned(),
            phase: Some(PhaseNow {
                phase: PhaseName::Measure,
                began: Duration::from_secs(2),
                expected: Some(Duration::from_secs(9)),
            }),
            phase_text: String::new(),
        }),
        notes: vec![
            "warning: only one CPU".to_owned(),
            "1/8  cell  1".to_owned(),
        ],
    }
}

#[test]
fn study_is_shown_above_its_trial() {
    let model = eventful();
    let check = |name: &str, cells: u32, page: Page, (width, height): (u16, u16)| {
        let study = study(cells);
        let frame = Frame {
            study: Some(&study),
            ..frame(&model, page)
        };
        golden(name, &letters(&screen(&frame, width, height)));
    };
    let study = study(4);
    let duet = Frame {
        study: Some(&StudyBoard {
            now: study.now.clone().map(|now| TrialNow {
                partner: Some(3),
                ..now
            }),
            ..study
        }),
        duet: Some([&model, &model]),
        side: Side::Partner,
        ..frame(&model, Page::Overview)
    };
    golden("live-duet-80x24.txt", &letters(&screen(&duet, 80, 24)));
    check("live-study-80x24.txt", 4, Page::Overview, (80, 24));
    check("live-study-160x50.txt", 40, Page::Overview, (160, 50));
    check("live-study-cells-80x24.txt", 12, Page::Cells, (80, 24));
}

#[test]
fn a_study_is_drawn_at_every_size_and_in_every_state() {
    let nothing = StudyBoard::default();
    let unstarted = StudyBoard {
        now: None,
        ..study(3)
    };
    let searched = StudyBoard {
        searched: Some(LevelKind::Rate),
        cells: vec![CellBoard {
            planned: 30,
            marks: vec![Mark::Tried(Evidence::Met), Mark::Tried(Evidence::Nothing)],
            found: Some("3,250/s".to_owned()),
            ..study(1).cells[0].clone()
        }],
        ..study(1)
    };
    let model = eventful();
    for study in [&nothing, &unstarted, &searched, &study(300)] {
        for page in [Page::Overview, Page::Times, Page::Details, Page::Cells] {
            for size in [(1, 1), (10, 3), (64, 12), (80, 24), (200, 20), (300, 90)] {
                let frame = Frame {
                    study: Some(study),
                    with_help: true,
                    ..frame(&model, page)
                };
                screen(&frame, size.0, size.1);
            }
        }
    }
}
