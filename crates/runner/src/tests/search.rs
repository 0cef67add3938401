//! A study with a search: which levels are tried, what is on disk, and how an interrupted search continues.

use waggle_results::{LevelKind, PhaseName};
use waggle_stats::{End, Evidence};

use super::{Bench, STUDY, Then, world, world::Fault};
use crate::{Ended, Event};

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
    let found: Vec<_> = events
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
    assert_eq!(found, [(1, End::Found, 5.0, 2), (2, End::Found, 5.0, 2)]);
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
async fn trials_that_fail_are_no_evidence() {
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
    // Three trials at each of 2 and 1 connections.
    assert_eq!(ends, [(End::Silent, None, 6); 2]);
}
