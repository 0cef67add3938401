//! Fault injection: a replica is killed at its instant, started again after its time, and things go wrong in between.

use std::time::Duration;

use waggle_results::{PhaseName, TrialEnd, TrialInfo};
use waggle_spec::FaultKind;
use waggle_study::{Fault as Asked, FaultAction, Level};

use super::{
    Bench, STUDY, SYSTEM, Then, phases, world,
    world::{Fault, PER_INTERVAL, Shared},
};
use crate::{event::Event, run::request::Ended};

const WHOLE: &str = "Up Ready Verify WarmUp Measure Finish Drain Collect Down";
/// Killed between two intervals, so that its records are known.
const ONCE: &str = "{ kill: fake, at: 600ms, restart_after: 250ms }";

/// A study of one cell and one trial with faults.
fn bench(faults: &[&str]) -> Bench {
    Bench::new_with_study(&study_with_faults(faults))
}

fn study_with_faults(faults: &[&str]) -> String {
    let entries: String = faults
        .iter()
        .map(|entry| format!("  - {entry}\n"))
        .collect();
    STUDY
        .replace("connections: [1, 2]", "connections: [1]")
        .replace("repeat: 2", "repeat: 1")
        .replace("delivery: {", &format!("faults:\n{entries}delivery: {{"))
}

/// Runs the only trial.
async fn run_trial(bench: &Bench, world: &Shared, then: Then) -> TrialInfo {
    let (ended, _) = bench.run(world, then).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    bench.results().trials.remove(0).info
}

#[track_caller]
fn assert_at(at_s: Option<f64>, expected_s: f64) {
    assert!(
        at_s.is_some_and(|at_s| (at_s - expected_s).abs() < 0.005),
        "{at_s:?} is not {expected_s}"
    );
}

#[track_caller]
fn assert_failed(info: &TrialInfo, phase: PhaseName, reason: &str) {
    let TrialEnd::Failed {
        phase: failure_phase,
        reason: failure_reason,
        ..
    } = &info.end
    else {
        panic!("it went unnoticed");
    };
    assert_eq!((*failure_phase, failure_reason.as_str()), (phase, reason));
}

#[tokio::test(start_paused = true)]
async fn it_is_killed_at_its_instant_and_up_again_after_its_time() {
    let (bench, world) = (bench(&[ONCE]), world(None));
    let (ended, events) = bench.run(&world, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    assert_eq!(phases(&events), [format!("c1 r1: {WHOLE}")]);
    let done = [
        "up",
        "ready",
        "verify",
        "load",
        "kill fake-0",
        "start fake-0 again",
        "joined",
        "down",
    ];
    assert_eq!(world.borrow().done, done);
    let shown: Vec<&Event> = events
        .iter()
        .filter(|event| matches!(event, Event::FaultBegan { .. } | Event::UpAgain { .. }))
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let info = &bench.results().trials[0].info;
    assert_eq!(info.end, TrialEnd::Completed);
    let [disturbance] = &info.faults[..] else {
        panic!("{:?}", info.faults);
    };
    assert_eq!(disturbance.name(), "fake-0");
    assert_at(Some(disturbance.begun_s), 0.6);
    assert_at(disturbance.started_s, 0.85);
    assert_at(disturbance.ready_s, 0.86);
}

/// Records that were accepted: of twelve intervals, in one of which the store was dead.
const ACCEPTED: u64 = 11 * PER_INTERVAL;
/// Records of the intervals before the kill, which were lost with the store.
const LOST: u64 = 6 * PER_INTERVAL;

/// Records from before the kill are missing, later ones are found, and a remark says that the store was read again.
#[track_caller]
fn assert_read_again(info: &TrialInfo) {
    let ledger = info.ledger.as_ref().unwrap();
    assert_eq!(
        (ledger.accepted, ledger.missing, ledger.delivered),
        (ACCEPTED, LOST, ACCEPTED - LOST)
    );
    assert_eq!((ledger.duplicates, ledger.unexpected), (0, 0));
    let read_again = "fake was killed, and its records were read again when it was ready";
    assert!(
        info.remarks
            .iter()
            .any(|found| found.starts_with(read_again)),
        "{:?}",
        info.remarks
    );
}

#[tokio::test(start_paused = true)]
async fn what_died_with_it_is_missing_and_what_came_after_is_found() {
    let bench = bench(&[ONCE]);
    assert_read_again(&run_trial(&bench, &world(None), Then::Nothing).await);
    // A record that was seen before the kill has its delay; it is not counted twice, and none is left out.
    let trial = &bench.results().trials[0];
    let measured = 7 * PER_INTERVAL;
    assert_eq!(trial.delivery_delay.as_ref().unwrap().len(), measured);
    let visible: Vec<u64> = trial.backlog.iter().map(|row| row.visible).collect();
    assert_eq!(visible.last(), Some(&(ACCEPTED - LOST)), "{visible:?}");
}

/// The store is read through another component, which keeps running.
#[tokio::test(start_paused = true)]
async fn another_component_that_shows_its_data_is_read_again_too() {
    let window = "  window:
    ports: [http]
    process: { command: [fake] }
    ready: { tcp: { port: http } }
    stop_timeout: 5s
endpoints:
";
    let system = SYSTEM.replace("endpoints:\n", window).replace(
        "    component: fake\n    port: http\n    tail",
        "    component: window\n    port: http\n    backed_by: [fake]\n    tail",
    );
    let bench = Bench::with_system(&system, &study_with_faults(&[ONCE]));
    assert_read_again(&run_trial(&bench, &world(None), Then::Nothing).await);
}

#[tokio::test(start_paused = true)]
async fn several_kills_come_in_the_order_of_their_instants() {
    let bench = bench(&[
        "{ kill: fake, at: 1400ms, restart_after: 0s }",
        "{ kill: fake, at: 100ms, restart_after: 1s }",
    ]);
    let info = run_trial(&bench, &world(None), Then::Nothing).await;
    let [first, second] = &info.faults[..] else {
        panic!("{:?}", info.faults);
    };
    assert_at(Some(first.begun_s), 0.1);
    assert_at(first.started_s, 1.1);
    assert_at(Some(second.begun_s), 1.4);
    // It has ended before it is started again.
    assert_at(second.started_s, 1.41);
}

#[tokio::test(start_paused = true)]
async fn a_trial_waits_for_what_is_up_again_only_after_its_load() {
    let bench = bench(&["{ kill: fake, at: 1900ms, restart_after: 5s }"]);
    let info = run_trial(&bench, &world(None), Then::Nothing).await;
    assert_eq!(info.end, TrialEnd::Completed);
    assert_at(info.faults[0].ready_s, 6.91);
    let drain = info.phase(PhaseName::Drain).unwrap();
    assert!(drain.start_s >= 1.0 + 6.9, "{drain:?}");
    // All of it was lost, but the store was read.
    assert_eq!(info.ledger.unwrap().delivered, 0);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_up_again_fails_the_trial() {
    let dead = world(Some(Fault::StaysDead));
    let info = run_trial(&bench(&[ONCE]), &dead, Then::Nothing).await;
    // It had until 3 s after its start, when the load was over already.
    assert_failed(&info, PhaseName::Finish, "fake-0 was not ready in time");
    assert_eq!(info.faults.len(), 1);
    assert_at(info.faults[0].started_s, 0.85);
    assert_eq!(info.faults[0].ready_s, None);
    // A driver that never returns reaches the phase's own limit.
    let hangs = world(Some(Fault::HangsDead));
    let info = run_trial(&bench(&[ONCE]), &hangs, Then::Nothing).await;
    assert_failed(&info, PhaseName::Finish, "not done within 43 s");
    for world in [dead, hangs] {
        let done = &world.borrow().done;
        assert_eq!(done[done.len() - 2..], ["down", "joined"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_up_when_it_is_to_be_killed_again_fails_the_trial() {
    let bench = bench(&[
        "{ kill: fake, at: 100ms, restart_after: 100ms }",
        "{ kill: fake, at: 1s, restart_after: 100ms }",
    ]);
    let slow = world(Some(Fault::RisesSlowly));
    let info = run_trial(&bench, &slow, Then::Nothing).await;
    let why =
        "fake-0 was to be killed again 1 s into the measured phase, and was ready only 1.2 s later";
    assert_failed(&info, PhaseName::Finish, why);
}

/// What only a system of manifests can have: the fake driver carries it out for any.
fn bench_of_actions(actions: &[(u64, FaultAction)]) -> Bench {
    let mut bench = bench(&[ONCE]);
    for cell in &mut bench.study.cells {
        let faults = actions.iter().map(|(at_ms, action)| Asked {
            component: "fake".to_owned(),
            replica: (!matches!(action, FaultAction::Upgrade { .. })).then_some(0),
            at: Duration::from_millis(*at_ms),
            action: action.clone(),
        });
        cell.faults = faults.collect();
    }
    bench
}

fn upgrade(tag: &str) -> FaultAction {
    let tag = || ("tag".to_owned(), Level::Text(tag.to_owned()));
    FaultAction::Upgrade {
        set: [tag()].into(),
        levels: [tag()].into(),
    }
}

#[tokio::test(start_paused = true)]
async fn upgrades_and_drains_come_one_after_the_other() {
    let world = world(None);
    let bench = bench_of_actions(&[(200, upgrade("2")), (900, FaultAction::Drain)]);
    let info = run_trial(&bench, &world, Then::Nothing).await;
    assert_eq!(info.end, TrialEnd::Completed);
    let done = world.borrow().done.clone();
    let done: Vec<&str> = done.iter().map(String::as_str).collect();
    let faults = ["upgrade fake to tag=2", "drain the node of fake-0"];
    assert!(done.windows(2).any(|pair| pair == faults), "{done:?}");
    let [first, second] = &info.faults[..] else {
        panic!("{:?}", info.faults);
    };
    assert_eq!(
        (first.kind, first.name()),
        (FaultKind::Upgrade, "fake".into())
    );
    assert_eq!(
        (second.kind, second.name()),
        (FaultKind::Drain, "fake-0".into())
    );
    assert_at(Some(first.begun_s), 0.2);
    assert_at(first.ready_s, 0.21);
    assert_eq!(first.started_s, None);
    assert_at(Some(second.begun_s), 0.9);
    for words in [
        "fake was upgraded, and its records",
        "fake was moved to another node, and",
    ] {
        assert!(
            info.remarks.iter().any(|found| found.starts_with(words)),
            "{:?}",
            info.remarks
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_must_wait_for_an_upgrade_fails_the_trial() {
    let slow = world(Some(Fault::RisesSlowly));
    let kill = FaultAction::Kill {
        restart_after: Duration::ZERO,
    };
    let bench = bench_of_actions(&[(100, upgrade("2")), (1000, kill)]);
    let info = run_trial(&bench, &slow, Then::Nothing).await;
    let TrialEnd::Failed { reason, .. } = &info.end else {
        panic!("it went unnoticed");
    };
    let words = "the kill of fake-0 was to begin 1 s into the measured phase, and the upgrade of fake was over only 1.";
    assert!(reason.starts_with(words), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_does_not_come_up_fails_the_trial() {
    let dead = world(Some(Fault::StaysDead));
    let bench = bench_of_actions(&[(200, upgrade("2"))]);
    let info = run_trial(&bench, &dead, Then::Nothing).await;
    let TrialEnd::Failed { reason, .. } = &info.end else {
        panic!("it went unnoticed");
    };
    assert_eq!(reason, "fake was not ready in time");
    assert_eq!(info.faults[0].ready_s, None);
}

#[tokio::test(start_paused = true)]
async fn another_death_fails_the_trial_as_ever() {
    let info = run_trial(&bench(&[ONCE]), &world(None), Then::DieWhenKilled).await;
    let why = "fake-0 ended with exit code 7";
    assert_failed(&info, PhaseName::Measure, why);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_it_is_dead_leaves_nothing_behind() {
    let (bench, world) = (bench(&[ONCE]), world(None));
    let (ended, events) = bench.run(&world, Then::ShutdownWhenKilled).await;
    assert_eq!(ended.unwrap(), Ended::Interrupted);
    assert!(phases(&events)[0].ends_with("Measure Down"), "{events:?}");
    let done = world.borrow().done.clone();
    assert!(done.iter().any(|done| done == "kill fake-0"), "{done:?}");
    assert!(!done.iter().any(|done| done.starts_with("start")));
    assert_eq!(done.iter().filter(|done| *done == "down").count(), 1);
    assert!(bench.results().trials.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_system_with_faults_is_started_again_for_the_next_trial() {
    let study = STUDY
        .replace("connections: [1, 2]", "connections: [1]")
        .replace("repeat: 2", "repeat: 2\n  restart: every_cell")
        .replace("delivery: {", &format!("faults:\n  - {ONCE}\ndelivery: {{"));
    let bench = Bench::new_with_study(&study);
    let remembers = world(Some(Fault::Remembers));
    let (ended, events) = bench.run(&remembers, Then::Nothing).await;
    assert_eq!(ended.unwrap(), Ended::Finished);
    let ran = phases(&events);
    assert_eq!(ran.len(), 2);
    assert!(ran.iter().all(|ran| ran.contains("Up Ready")), "{ran:?}");
    // Not because of a loss: a store that is read again shows each record once.
    for trial in &bench.results().trials {
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert_eq!((ledger.missing, ledger.duplicates), (0, 0));
    }
}
