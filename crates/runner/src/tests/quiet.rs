//! Other programs on the machine, in the scheduler: what is waited for, what is replaced, and what is noted.

use std::time::Duration;

use tokio::time::Instant;
use waggle_results::TrialInfo;
use waggle_stats::Verdict;

use super::{Bench, STUDY, Then, repetitions::keys, world};
use crate::{event::Event, run::request::Ended};

/// Runs a study with trials of three seconds, beside programs that use so many cores until so many seconds.
async fn run(schedule: &str, others: &[(f64, f64)]) -> (Bench, Vec<Event>, Duration) {
    let study = STUDY.replace("repeat: 2", schedule);
    assert_ne!(study, STUDY);
    let bench = Bench::new_with_study(&study);
    let world = world(None);
    world.borrow_mut().others = Some(others.to_vec());
    let start = Instant::now();
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    (bench, events, start.elapsed())
}

fn infos(bench: &Bench) -> Vec<TrialInfo> {
    let trials = bench.results().trials.into_iter();
    trials.map(|trial| trial.info).collect()
}

/// Contended trials, as `c1r1`.
fn contended_machine(bench: &Bench) -> String {
    let model = waggle_analysis::model(&bench.results());
    let trials = model.trials.iter();
    let contended = trials.filter(|trial| waggle_analysis::is_contended(trial));
    keys(contended.map(|trial| trial.info.key))
}

const FIXED: &str = "repeat: { min: 3, max: 4, max_ci_width: 900% }";
const ALWAYS: &[(f64, f64)] = &[(1e6, 0.8)];

#[tokio::test(start_paused = true)]
async fn a_quiet_machine_delays_nothing() {
    let (bench, events, took) = run(FIXED, &[(1e6, 0.2)]).await;
    let (_, _, without) = run(&format!("{FIXED}\n  quiet_timeout: 0s"), &[(1e6, 0.2)]).await;
    assert!(
        took < without + Duration::from_millis(6 * 250 + 1),
        "{took:?} {without:?}"
    );
    assert!(infos(&bench).iter().all(|info| info.quiet_wait.is_none()));
    let waits = |event: &Event| matches!(event, Event::WaitingForQuiet { .. });
    assert!(!events.iter().any(waits));
    assert_eq!(contended_machine(&bench), "");
    let model = waggle_analysis::model(&bench.results());
    let cores = model.contention.unwrap().other_cores.unwrap();
    assert!((cores.mean - 0.2).abs() < 0.02, "{cores:?}");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ends_is_waited_for() {
    let (bench, events, _) = run(FIXED, &[(1.0, 1.5)]).await;
    let infos = infos(&bench);
    let waited = infos[0].quiet_wait.unwrap();
    assert!(
        waited.is_quiet && waited.waited_s > 0.9 && waited.waited_s < 1.6,
        "{waited:?}"
    );
    assert!(infos[1..].iter().all(|info| info.quiet_wait.is_none()));
    let wait = events.iter().find_map(|event| match event {
        Event::WaitingForQuiet {
            other_cores, cpus, ..
        } => Some((*other_cores, *cpus)),
        _ => None,
    });
    let (other_cores, cpus) = wait.unwrap();
    assert!(
        cpus == 2 && (other_cores - 1.5).abs() < 0.1,
        "{other_cores}"
    );
    assert_eq!(contended_machine(&bench), "");
}

#[tokio::test(start_paused = true)]
async fn programs_that_stay_are_not_waited_for_again_and_nothing_is_replaced() {
    let (bench, _, took) = run(FIXED, ALWAYS).await;
    let (_, _, without) = run(&format!("{FIXED}\n  quiet_timeout: 0s"), ALWAYS).await;
    let most = bench.plan.expected.mul_f64(0.1);
    assert!(took - without <= most, "{took:?} {without:?} {most:?}");
    let waits: Vec<bool> = infos(&bench)
        .iter()
        .filter_map(|info| Some(info.quiet_wait?.is_quiet))
        .collect();
    assert!(!waits.is_empty() && waits.len() <= 2, "{waits:?}");
    assert!(waits.iter().all(|is_quiet| !is_quiet));
    let results = bench.results();
    assert_eq!(results.info.added, []);
    let model = waggle_analysis::model(&results);
    let contention = model.contention.as_ref().unwrap();
    assert!(contention.is_throughout(), "{contention:?}");
    assert_eq!(
        (contention.contended, contention.cpus),
        (6, results.info.host.cpus)
    );
    let verdicts = model.cells.iter().map(|cell| cell.verdict);
    assert!(verdicts.eq([Some(Verdict::Contended); 2]));
    // It is an answer: at least so much.
    let conclusion = model.conclusion(false);
    assert_eq!(conclusion, waggle_analysis::Conclusion::Answered);
    assert_eq!(model.conclusion(true), waggle_analysis::Conclusion::Open);
}

#[tokio::test(start_paused = true)]
async fn a_disturbed_trial_is_replaced_and_the_quiet_ones_stand_beside() {
    // The first trial's load runs within this time.
    let (bench, _, _) = run(&format!("{FIXED}\n  quiet_timeout: 0s"), &[(4.0, 1.0)]).await;
    assert_eq!(contended_machine(&bench), "c1r1");
    let results = bench.results();
    let added = results.info.added.iter().map(|added| added.key);
    assert_eq!(keys(added), "c1r4");
    let model = waggle_analysis::model(&results);
    let asked = &model.cells[0].asked[0];
    assert_eq!(asked.doubtful, 1);
    assert!(asked.without_doubtful.is_some());
    assert_eq!(model.cells[0].verdict, Some(Verdict::Valid));
    let contention = model.cells[0].contention.as_ref().unwrap();
    assert_eq!((contention.contended, contention.trials), (1, 4));
    assert!(!model.contention.unwrap().is_throughout());
}
