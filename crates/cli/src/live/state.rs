//! The board as texts, for a page: the same values as the terminal's view, with its words.

use std::time::Duration;

use waggle_report::wording::{
    format::{Unit, count, share, short, time_us},
    labels,
    search::level,
};
use waggle_serve::{
    LiveCell, LiveLoad, LiveMark, LivePhase, LiveState, LiveStep, LiveTrial, Measured,
};
use waggle_stats::{Evidence, GENERATOR_BUSY, Verdict};

use super::{
    board::{Board, CellBoard, Mark, PhaseNow, Shared, StudyBoard, TrialNow},
    history::TimeRange,
    view_model::{FIGURES, Figures, LiveFailure, ViewModel},
};
use crate::{
    output::values::{duration, microseconds, rate},
    trial::{aggregate::as_f64, so_far::ratio},
};

/// Points of a line over time.
const POINTS_MAX: usize = 240;
/// Trials to come of a cell that are drawn.
const LEFT_MAX: u32 = 24;
/// The place of p99 among the percentiles of a slice.
const P99: usize = 2;

impl Shared {
    /// The state at a time since the start of the run.
    pub(crate) fn state(&self, elapsed: Duration) -> LiveState {
        state(&self.lock(), elapsed)
    }
}

fn state(board: &Board, elapsed: Duration) -> LiveState {
    let Some(study) = &board.study else {
        return LiveState::default();
    };
    LiveState {
        study: study.name.clone(),
        question: study.question.clone(),
        elapsed: duration(elapsed),
        left: (study.trials > 0).then(|| duration(study.time_left(elapsed))),
        trials: study.trials,
        done: study.done,
        factors: study.factors.clone(),
        cells: cells(study),
        outcome: match study.searched {
            Some(_) => "highest holding",
            None => "goodput per second",
        },
        trial: study
            .now
            .as_ref()
            .map(|now| trial(board, study, now, elapsed)),
        notes: study.notes.clone(),
        end: None,
    }
}

fn cells(study: &StudyBoard) -> Vec<LiveCell> {
    let running = study.now.as_ref();
    let is_now =
        |index: usize| running.is_some_and(|now| now.cell == index || now.partner == Some(index));
    let cells = study.cells.iter().enumerate();
    cells
        .map(|(index, cell)| LiveCell {
            is_now: is_now(index),
            ..live_cell(study, cell)
        })
        .collect()
}

fn live_cell(study: &StudyBoard, cell: &CellBoard) -> LiveCell {
    let ended = u32::try_from(cell.marks.len()).unwrap_or(u32::MAX);
    let outcome = match (study.searched, &cell.found, cell.met) {
        (None, ..) => {
            let goodput = cell.so_far.goodput.as_ref();
            goodput.map(|goodput| short(Some(goodput), Unit::Plain))
        }
        (Some(_), Some(answer), _) => Some(answer.clone()),
        (Some(what), None, Some(met)) => Some(format!("{} so far", level(what, met))),
        (Some(_), None, None) => None,
    };
    let is_over = cell.found.is_some();
    let left = if is_over {
        0
    } else {
        cell.planned.saturating_sub(ended)
    };
    LiveCell {
        number: cell.number,
        levels: cell.levels.clone(),
        marks: cell.marks.iter().map(mark).collect(),
        left: left.min(LEFT_MAX),
        verdict: cell.so_far.verdict.map(Verdict::name),
        outcome,
        is_now: false,
    }
}

fn mark(mark: &Mark) -> LiveMark {
    match mark {
        Mark::Judged(verdict) => LiveMark {
            word: verdict.name(),
            is_good: *verdict == Verdict::Valid,
        },
        Mark::Tried(evidence) => LiveMark {
            word: labels::evidence(*evidence),
            is_good: *evidence == Evidence::Met,
        },
    }
}

fn trial(board: &Board, study: &StudyBoard, now: &TrialNow, elapsed: Duration) -> LiveTrial {
    let names = [Some(now.cell), now.partner].map(|index| {
        let cell = index.and_then(|index| study.cells.get(index));
        cell.map(|cell| format!("cell {}: {}", cell.number, cell.levels.join(" ")))
    });
    let [first, second] = names;
    let loads = match &board.partner {
        None => vec![load(&board.trial, None)],
        Some(partner) => vec![load(&board.trial, first), load(partner, second)],
    };
    let number = study.cells.get(now.cell).map_or(0, |cell| cell.number);
    LiveTrial {
        which: format!("cell {number}, {}", now.which),
        phase: now.phase.as_ref().map(|phase| live_phase(phase, elapsed)),
        text: now.phase_text.clone(),
        loads,
    }
}

fn live_phase(phase: &PhaseNow, elapsed: Duration) -> LivePhase {
    let passed = elapsed.saturating_sub(phase.began);
    LivePhase {
        name: labels::phase(phase.phase).to_owned(),
        time: match phase.expected {
            Some(expected) => format!("{} of {}", duration(passed), duration(expected)),
            None => duration(passed),
        },
        share: phase
            .expected
            .map(|expected| ratio(passed.as_secs_f64(), expected.as_secs_f64()).min(1.0)),
    }
}

fn load(model: &ViewModel, name: Option<String>) -> LiveLoad {
    let slices: Vec<_> = model.history.slices(TimeRange::Whole).collect();
    let step = slices.len().div_ceil(POINTS_MAX).max(1);
    let points = || slices.iter().step_by(step);
    let rates: Vec<f64> = points().map(|slice| slice.rate_per_s()).collect();
    let times: Vec<Option<f64>> = points().map(|slice| slice.percentiles()[P99]).collect();
    let rate_max = rates.iter().copied().fold(0.0, f64::max);
    let time_max = times.iter().flatten().copied().fold(0.0, f64::max);
    let ended = as_f64(model.overall.succeeded + model.overall.failed);
    let failures = model.failures.iter();
    let statuses = model.statuses.iter();
    let verdict = model.verdict.as_ref();
    let doubts = verdict.map(|verdict| verdict.reasons.iter().chain(&verdict.remarks));
    LiveLoad {
        name,
        request: model.title.request.clone(),
        settings: model.title.settings.clone(),
        figures: figures(model),
        failures: failures
            .map(|failure| failure_line(failure, ended))
            .collect(),
        statuses: statuses
            .map(|(status, answers)| (status.clone(), count(*answers)))
            .collect(),
        steps: steps(model),
        verdict: verdict.map(|verdict| verdict.verdict.name()),
        doubts: doubts.into_iter().flatten().cloned().collect(),
        rate_max: rate(rate_max),
        time_max: time_us(time_max),
        rates,
        times,
    }
}

/// A kind of failure, and how many there are of so many requests.
fn failure_line(failure: &LiveFailure, ended: f64) -> (String, String) {
    // A connection has no share of the requests.
    let of_requests = match failure.is_of_request {
        true => format!(", {}", share(ratio(as_f64(failure.count), ended))),
        false => String::new(),
    };
    let text = format!("{}{of_requests}", count(failure.count));
    (failure.kind.clone(), text)
}

fn figures(model: &ViewModel) -> Vec<Measured> {
    let (now, overall) = (&model.now, &model.overall);
    let line = |name: &str, [now, overall]: [String; 2]| Measured {
        name: name.to_owned(),
        now,
        overall,
        is_bad: false,
    };
    let both = |text: &dyn Fn(&Figures) -> String| [text(now), text(overall)];
    let mut all = vec![
        line("rate", both(&|figures| rate(figures.rate_per_s))),
        line("succeeded", both(&|figures| count(figures.succeeded))),
        Measured {
            is_bad: overall.failed > 0,
            ..line("failed", both(&|figures| count(figures.failed)))
        },
    ];
    if model.is_open {
        all.push(Measured {
            is_bad: overall.due_unsent > 0,
            ..line("skipped", both(&|figures| count(figures.due_unsent)))
        });
    }
    for (place, (name, _)) in FIGURES.iter().enumerate() {
        let time = |figures: &Figures| {
            let us = figures.response_us[place];
            us.map_or_else(|| "–".to_owned(), microseconds)
        };
        all.push(line(&format!("response time {name}"), both(&time)));
    }
    all.push(line(
        "received",
        both(&|figures| format!("{}/s", Unit::Bytes.show(figures.bytes_per_s))),
    ));
    let connections = format!(
        "{} of {}",
        count(model.connections_open),
        count(model.connections_asked)
    );
    all.push(line("connections open", [connections, String::new()]));
    all.push(line("in flight", [count(model.in_flight), String::new()]));
    all.push(Measured {
        // Above this value the checks report the load generator as the limit.
        is_bad: overall.busy >= GENERATOR_BUSY,
        ..line("load generator CPU", both(&|figures| share(figures.busy)))
    });
    all
}

fn steps(model: &ViewModel) -> Vec<LiveStep> {
    let steps = model.steps.iter();
    steps
        .map(|step| LiveStep {
            name: step.name.clone(),
            succeeded: count(step.counts.succeeded),
            failed: count(step.counts.failed),
            rate: rate(step.rate_now_per_s),
            p99: step.p99_us.map_or_else(|| "–".to_owned(), microseconds),
        })
        .collect()
}
