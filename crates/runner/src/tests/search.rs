//! A study with a search: which levels are tried, what is on disk, and how an interrupted search continues.

use waggle_results::PhaseName;
use waggle_spec::LevelKind;
use waggle_stats::{End, Evidence};

use super::{Bench, STUDY, Then, world, world::Fault};
use crate::{event::Event, run::request::Ended};

/// The fake system supports this many connections.
const HOLDS: Option<Fault> = Some(Fault::HoldsAtMost(5));

fn bench() -> Bench {
    let study = STUDY
        .replace("connections: [1, 2]", "pipelining: [1, 2]")
        .replace("  connections: ${connections}\n", "")
        .replace("  pipelining: 1\n", "  pipelining: ${pipelining}\n")
        .replace("  repeat: 2\n", "");
    let search = "search: { maximize: connections, start: 2, confirmations: 2, max_trials: 9, conditions: [put.failed == 0] }\n";
    Bench::new_with_study(&format!("{study}{search}"))
}

/// The levels on disk, cell by cell, in the order of the trials.
fn levels(bench: &Bench) -> Vec<Vec<f64>> {
    let run = bench.results();
    (1..=2)
        .map(|cell| {
            let mut trials: Vec<_> = run
                .trials
                .iter()
                .filter(|trial| trial.info.key.cell == cell)
                .map(|trial| (trial.info.key.repetition, trial.info.level.unwrap()))
                .collect();
            trials.sort_by_key(|(repetition, _)| *repetition);
            trials.into_iter().map(|(_, level)| level).collect()
        })
        .collect()
}

const WHOLE: [f64; 7] = [2.0, 4.0, 8.0, 6.0, 5.0, 5.0, 6.0];

#[tokio::test(start_paused = true)]
async fn each_cell_is_searched_from_its_first_level_to_its_answer() {
    let bench = bench();
    let (ended, events) = bench.run(&world(HOLDS), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    for event in &events {
        match event {
            Event::Searched(step) => {
                assert_eq!(step.why.is_empty(), step.evidence == Evidence::Met);
            }
            Event::Found { why, .. } => assert!(!why.is_empty()),
            _ => {}
        }
    }
    assert_eq!(levels(&bench), [WHOLE, WHOLE]);
    let started = events.iter().filter_map(|event| match event {
        Event::TrialStarted { level, .. } => *level,
        _ => None,
    });
    assert_eq!(started.collect::<Vec<_>>(), [WHOLE, WHOLE].concat());
    let answers: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Found {
                cell,
                answer,
                not_needed,
                ..
            } => Some((*cell, answer.end, answer.holds.unwrap().level, *not_needed)),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [(1, End::Found, 5.0, 2), (2, End::Found, 5.0, 2)]);
    let search = bench.results().info.search.unwrap();
    assert_eq!(
        (search.maximize, search.max_trials),
        (LevelKind::Connections, 9)
    );
    // The load had the level: the engine opened as many connections.
    for trial in &bench.results().trials {
        let asked = trial.info.generator.as_ref().unwrap().connections_asked;
        assert_eq!(
            Some(f64::from(u32::try_from(asked).unwrap())),
            trial.info.level
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_search_goes_on_where_it_stopped() {
    let bench = bench();
    let mut runs = 0;
    // Each run is interrupted in its third trial, until one is complete.
    loop {
        runs += 1;
        let (ended, _) = bench
            .run(&world(HOLDS), Then::ShutdownIn(3, PhaseName::Measure))
            .await;
        if ended.unwrap() == Ended::Finished {
            break;
        }
    }
    assert_eq!(levels(&bench), [WHOLE, WHOLE]);
    assert_eq!(runs, 7);
    let (ended, events) = bench.run(&world(HOLDS), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let started = |event: &&Event| matches!(event, Event::TrialStarted { .. });
    assert_eq!(events.iter().filter(started).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn searches_end_if_trials_fail_alike_before_the_load() {
    let bench = bench();
    let world = world(Some(Fault::Fails(PhaseName::Ready)));
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Found { answer, .. } => Some((answer.end, answer.holds, answer.trials)),
            _ => None,
        })
        .collect();
    // Three trials of the first cell, then one of the other shows that it is not the cell.
    assert_eq!(
        ends,
        [(End::Unfinished, None, 3), (End::Unfinished, None, 1)]
    );
    let warnings = events
        .iter()
        .filter(|event| matches!(event, Event::Warning(_)));
    assert_eq!(warnings.count(), 2);
}

/// What fails while the load runs may not fail at a lower level.
#[tokio::test(start_paused = true)]
async fn trials_that_fail_are_no_evidence() {
    let bench = bench();
    let world = world(Some(Fault::Fails(PhaseName::Measure)));
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Found { answer, .. } => Some((answer.end, answer.holds, answer.trials)),
            _ => None,
        })
        .collect();
    // Three trials at each of 2 and 1 connections.
    assert_eq!(ends, [(End::Silent, None, 6); 2]);
}

/// Two cells whose users are searched for, with trials at two shares of what is found.
fn bench_with_points() -> Bench {
    let study = STUDY
        .replace("connections: [1, 2]", "think: [1s, 2s]")
        .replace(
            "  model: closed\n  connections: ${connections}\n  pipelining: 1\n",
            "  model: users\n  think_time: ${think}\n",
        )
        .replace("  repeat: 2\n", "");
    let search = "search: { maximize: users, start: 2, confirmations: 2, max_trials: 9, conditions: [put.failed == 0], \
                  operating_points: { shares: [50%, 100%], repeat: 2 } }\n";
    Bench::new_with_study(&format!("{study}{search}"))
}

/// Cell, level and share of each trial that was started.
fn started_trials(events: &[Event]) -> Vec<(u32, f64, Option<f64>)> {
    let started = events.iter().filter_map(|event| match event {
        Event::TrialStarted {
            key,
            level,
            operating_share,
            ..
        } => Some((key.cell, level.unwrap(), *operating_share)),
        _ => None,
    });
    started.collect()
}

/// Half of five users, and all of them.
const POINTS: [(u32, f64, Option<f64>); 8] = [
    (1, 3.0, Some(0.5)),
    (2, 3.0, Some(0.5)),
    (1, 5.0, Some(1.0)),
    (2, 5.0, Some(1.0)),
    (1, 3.0, Some(0.5)),
    (2, 3.0, Some(0.5)),
    (1, 5.0, Some(1.0)),
    (2, 5.0, Some(1.0)),
];

#[tokio::test(start_paused = true)]
async fn trials_at_operating_points_follow_the_searches() {
    let bench = bench_with_points();
    let (ended, events) = bench.run(&world(HOLDS), Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let trials = started_trials(&events);
    let steps = trials.len() - POINTS.len();
    let levels: Vec<f64> = trials[..steps].iter().map(|(_, level, _)| *level).collect();
    assert_eq!(levels, [WHOLE, WHOLE].concat());
    assert_eq!(trials[steps..], POINTS);
    // The planned trials that are left are those that the searches did not need.
    let not_needed: u32 = events
        .iter()
        .filter_map(|event| match event {
            Event::Found { not_needed, .. } => Some(*not_needed),
            _ => None,
        })
        .sum();
    assert_eq!(trials.len() + not_needed as usize, bench.plan.trials.len());
    let model = waggle_analysis::model(&bench.results());
    let search = model.search.as_ref().unwrap();
    let tried: Vec<usize> = search.cells.iter().map(|cell| cell.steps.len()).collect();
    assert_eq!(tried, [WHOLE.len(); 2]);
    let [half, whole] = &model.operating_points[..] else {
        panic!("{:?}", model.operating_points);
    };
    assert_eq!((half.share, whole.share), (0.5, 1.0));
    for (point, level) in [(half, 3.0), (whole, 5.0)] {
        let levels: Vec<_> = point.cells.iter().map(|cell| cell.level).collect();
        assert_eq!(levels, [Some(level); 2]);
        for cell in &point.model.cells {
            assert_eq!((cell.planned, cell.ran, cell.counted), (2, 2, 2));
            assert!(cell.verdict.is_some());
        }
    }
    // Cells rest on the trials of their searches alone.
    assert!(model.cells.iter().all(|cell| cell.counted == 2));
}

#[tokio::test(start_paused = true)]
async fn interrupted_operating_points_go_on_where_they_stopped() {
    let bench = bench_with_points();
    let mut all = Vec::new();
    loop {
        let stop = Then::ShutdownIn(4, PhaseName::Measure);
        let (ended, events) = bench.run(&world(HOLDS), stop).await;
        let is_finished = ended.unwrap() == Ended::Finished;
        let mut trials = started_trials(&events);
        if !is_finished {
            // It was interrupted, and runs again.
            trials.pop();
        }
        all.extend(trials);
        if is_finished {
            break;
        }
        let model = waggle_analysis::model(&bench.results());
        let partial = model
            .warnings
            .iter()
            .filter(|warning| matches!(warning, waggle_analysis::Warning::PartialPoint { .. }));
        let missing = POINTS
            .len()
            .saturating_sub(all.len().saturating_sub(2 * WHOLE.len()));
        assert_eq!(partial.count() > 0, missing > 0 && all.len() >= WHOLE.len());
    }
    assert_eq!(all[2 * WHOLE.len()..], POINTS);
}

#[tokio::test(start_paused = true)]
async fn a_cell_without_capacity_has_no_operating_point() {
    let bench = bench_with_points();
    let world = world(Some(Fault::HoldsAtMost(0)));
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let trials = started_trials(&events);
    assert!(
        trials.iter().all(|(_, _, share)| share.is_none()),
        "{trials:?}"
    );
    for event in &events {
        if let Event::Found {
            answer, not_needed, ..
        } = event
        {
            assert_eq!(
                (answer.end, *not_needed),
                (End::NeverMet, 9 - answer.trials + 4)
            );
        }
    }
    let model = waggle_analysis::model(&bench.results());
    for point in &model.operating_points {
        assert!(point.cells.iter().all(|cell| cell.level.is_none()));
        assert!(point.model.cells.is_empty());
    }
    assert!(
        !model
            .warnings
            .iter()
            .any(|warning| { matches!(warning, waggle_analysis::Warning::PartialPoint { .. }) })
    );
}
