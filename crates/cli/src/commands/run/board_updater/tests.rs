//! The board of a run, with generated events.

use std::{path::Path, sync::Arc};

use waggle_analysis::{SearchStep, TrialSoFar};
use waggle_runner::Event;
use waggle_stats::{Answer, End, Finding, HoldingLevel, Reason, SearchTrial, Verdict};
use waggle_study::{Named, Source, Study};

use super::*;
use crate::{
    commands::run::progress::{EventReader, Judge},
    trial::generated::{CALM, interval},
};

const LOAD: &str =
    "load:\n  model: closed\n  connections: ${connections}\n  request: { name: get, get: /a }\n";
const SCHEDULE: &str = "schedule:\n  warm_up: 1s\n  measure: 4s\n  interval: 250ms\n";

/// Two cells of two trials.
fn grid() -> Study {
    let factors = "factors: { connections: [2, 4] }";
    study(&format!("{factors}\n{LOAD}{SCHEDULE}  repeat: 2\n"))
}

fn study(rest: &str) -> Study {
    let text = format!(
        "study: small\nquestion: Which?\nsystem: {{ url: 'http://127.0.0.1:1' }}\n\
         {rest}"
    );
    let source = Source {
        name: "small.yaml".to_owned(),
        text,
    };
    let Named::Server(system) = waggle_study::system_of(&source).unwrap() else {
        panic!("a server that runs already");
    };
    waggle_study::read_study(&source, &system).unwrap()
}

/// A board with what tells it of events.
struct Following {
    reader: EventReader,
    updater: BoardUpdater,
}

impl Following {
    fn apply(&mut self, event: &Event, elapsed: Duration) {
        let step = self.reader.read(event).unwrap();
        self.updater.apply(&step, elapsed);
    }
}

fn test_following(study: &Study, judge: Judge) -> Following {
    Following {
        reader: EventReader::new(study, Path::new("nowhere"), judge),
        updater: BoardUpdater::new(StudyFacts::new(study, true)),
    }
}

/// Trials of cell 2 are overloaded.
fn by_cell(_: &Path, key: TrialKey) -> Option<TrialSoFar> {
    Some(TrialSoFar {
        reasons: match key.cell {
            2 => vec![Reason {
                verdict: Verdict::Overloaded,
                finding: Finding::NothingSent,
            }],
            _ => Vec::new(),
        },
        goodput_per_s: Some(f64::from(1_000 * key.cell + key.repetition)),
        asked: Vec::new(),
    })
}

fn key(cell: u32, repetition: u32) -> TrialKey {
    TrialKey { cell, repetition }
}

fn trial_started_event(key: TrialKey) -> Event {
    Event::TrialStarted {
        position: 1,
        key,
        levels: String::new(),
        level: None,
        operating_share: None,
        workers: 3,
    }
}

fn trial_ended_event(key: TrialKey) -> Event {
    Event::TrialEnded {
        key,
        failure: None,
        goodput_per_s: 1.0,
    }
}

fn run_started(already_done: u32) -> Event {
    Event::RunStarted {
        trials: 4,
        already_done,
        expected: Duration::from_secs(40),
    }
}

fn in_phase(phase: PhaseName, index: u64) -> Event {
    Event::Interval {
        phase,
        interval: Arc::new(interval(index, CALM, &mut 0)),
    }
}

fn board_snapshot(updater: &BoardUpdater) -> StudyBoard {
    let mut snapshot = None;
    updater
        .board
        .update(|board| snapshot.clone_from(&board.study));
    snapshot.unwrap()
}

#[test]
fn a_trial_that_ends_has_a_mark_and_its_cell_a_verdict() {
    let mut following = test_following(&grid(), by_cell);
    let mut seconds = 0;
    let mut apply = |event: Event| {
        seconds += 1;
        following.apply(&event, Duration::from_secs(seconds));
    };
    apply(run_started(0));
    for key in [key(1, 1), key(2, 1), key(1, 2)] {
        apply(trial_started_event(key));
        apply(trial_ended_event(key));
    }
    apply(trial_started_event(key(2, 2)));
    let board = board_snapshot(&following.updater);
    let (first, second) = (&board.cells[0], &board.cells[1]);
    assert_eq!(first.marks, [Mark::Judged(Verdict::Valid); 2]);
    assert_eq!(second.marks, [Mark::Judged(Verdict::Overloaded)]);
    assert_eq!(first.so_far.verdict, Some(Verdict::Valid));
    assert_eq!(second.so_far.verdict, Some(Verdict::Overloaded));
    let goodput = first.so_far.goodput.unwrap();
    assert!((goodput.point - 1_001.5).abs() < 0.01 && goodput.interval.is_some());
    let now = board.now.as_ref().unwrap();
    assert_eq!((now.cell, now.which.as_str()), (1, "repetition 2 of 2"));
    assert_eq!((board.done, board.trials), (3, 4));
    // Three trials took seven seconds; the new one is expected to take as long as their mean.
    assert_eq!(
        board
            .time_left(Duration::from_secs(8))
            .as_secs_f64()
            .round(),
        1.0
    );
    assert_eq!(following.updater.lasting.len(), 3);
}

#[test]
fn a_trial_is_judged_with_what_is_known_of_its_engine_and_its_cpus() {
    let mut following = test_following(&grid(), by_cell);
    // Each worker has at least one connection.
    for (cell, workers) in [(1, 2), (2, 3)] {
        following.apply(&trial_started_event(key(cell, 1)), Duration::ZERO);
        let so_far = &following.updater.running.main_trial().unwrap().so_far;
        assert_eq!(
            (so_far.shape.generator.workers, so_far.idle_poll),
            (workers, true)
        );
    }
}

#[test]
fn both_trials_of_a_duet_are_followed() {
    let mut following = test_following(&grid(), by_cell);
    let partner = |event: Event| Event::Partner(Box::new(event));
    let events = [
        trial_started_event(key(1, 1)),
        partner(trial_started_event(key(2, 1))),
        in_phase(PhaseName::Measure, 0),
        partner(in_phase(PhaseName::Measure, 0)),
        partner(in_phase(PhaseName::Measure, 1)),
    ];
    for event in &events {
        following.apply(event, Duration::ZERO);
    }
    let succeeded: Vec<u64> = following
        .updater
        .running
        .iter()
        .map(|followed| followed.so_far.measured.counts().succeeded)
        .collect();
    assert_eq!(succeeded, [CALM.answers, 2 * CALM.answers]);
    let now = board_snapshot(&following.updater).now.unwrap();
    assert_eq!((now.cell, now.partner), (0, Some(1)));
    following
        .updater
        .board
        .update(|board| assert!(board.partner.is_some()));
    for cell in [1, 2] {
        following.apply(&trial_ended_event(key(cell, 1)), Duration::ZERO);
    }
    let study = board_snapshot(&following.updater);
    assert!(study.now.is_none() && study.cells.iter().all(|cell| cell.marks.len() == 1));
}

#[test]
fn only_the_measured_phase_is_in_the_numbers() {
    let mut following = test_following(&grid(), by_cell);
    following.apply(&trial_started_event(key(1, 1)), Duration::ZERO);
    for (phase, index) in [
        (PhaseName::WarmUp, 0),
        (PhaseName::Measure, 1),
        (PhaseName::Measure, 2),
        (PhaseName::Recovery, 3),
        (PhaseName::Finish, 4),
    ] {
        following.apply(&in_phase(phase, index), Duration::ZERO);
    }
    let so_far = &following.updater.running.main_trial().unwrap().so_far;
    assert_eq!(so_far.measured.counts().succeeded, 2 * CALM.answers);
    assert_eq!(so_far.whole.counts.succeeded, 3 * CALM.answers);
}

#[test]
fn a_search_shows_what_each_level_showed_and_the_answer() {
    let search = "search: { maximize: connections, conditions: ['get.failed == 0'], start: 2 }\n";
    let load = LOAD.replace("  connections: ${connections}\n", "");
    let searched = study(&format!("{search}{load}{SCHEDULE}"));
    let mut following = test_following(&searched, by_cell);
    following.apply(&run_started(0), Duration::ZERO);
    for (repetition, evidence) in [(1, Evidence::Met), (2, Evidence::NotMet)] {
        let key = key(1, repetition);
        following.apply(&trial_started_event(key), Duration::ZERO);
        following.apply(&trial_ended_event(key), Duration::ZERO);
        let step = SearchStep {
            key,
            level: 2.0,
            evidence,
            tried: SearchTrial::new(2.0, evidence),
            why: Vec::new(),
            numbers: Vec::new(),
        };
        following.apply(&Event::Searched(step), Duration::ZERO);
    }
    let answer = Answer {
        holds: Some(HoldingLevel {
            level: 2.0,
            trials: 1,
        }),
        fails: Some(4.0),
        end: End::Found,
        stopped_at: None,
        stopped_by: None,
        trials: 2,
        limited_trials: 0,
        pool: None,
        levels: Vec::new(),
    };
    let event = Event::Found {
        cell: 1,
        answer,
        why: Vec::new(),
        not_needed: 0,
    };
    following.apply(&event, Duration::ZERO);
    let board = board_snapshot(&following.updater);
    let cell = &board.cells[0];
    let tried = [Evidence::Met, Evidence::NotMet].map(Mark::Tried);
    assert_eq!((&cell.marks[..], cell.met), (&tried[..], Some(2.0)));
    // Trials at different levels are not combined to an estimate.
    assert_eq!((cell.so_far.verdict, cell.so_far.goodput), (None, None));
    assert_eq!(cell.found.as_deref(), Some("2 connections"));
}
