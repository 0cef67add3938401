//! Fault injection with real processes.

use rustix::process::{Signal, kill_process};
use waggle_results::{FailureCount, FailureKind, PhaseName, Run, TrialEnd};
use waggle_testkit::wait_until;

use super::{
    Bench, DELIVERY, log, one_store,
    orphans::{assert_all_gone, pid_of, started_until},
    study,
};

/// A store behind a script; `$0` is its port.
fn system(script: &str) -> String {
    one_store(&format!("[sh, -c, '{script}', '${{port.http}}']"))
}

fn study_with_faults(measure: &str, faults: &str) -> String {
    let text = study("one-store", DELIVERY);
    let text = text.replace("measure: 2s", &format!("measure: {measure}"));
    text.replace("delivery: {", &format!("faults: [{faults}]\ndelivery: {{"))
}

/// Each life prints the processes in its folder, then starts children, some of which leave its group.
const FAMILY: &str = "for each in /proc/[0-9]*; do \
     test \"$(readlink $each/cwd)\" = \"$PWD\" && tr \"\\0\" \" \" < $each/cmdline && echo; done; echo life begins; \
     sleep 600 & setsid sh -c \"sleep 601 & sleep 602\" & exec STORE $0";

#[test]
fn a_store_is_killed_and_comes_back_while_load_goes_on() {
    let study = study_with_faults("15s", "{ kill: store, at: 500ms, restart_after: 3s }");
    let bench = Bench::new(&system(FAMILY), &study);
    let run = bench.results();
    let trial = &run.trials[0];
    let info = &trial.info;
    assert_eq!(info.end, TrialEnd::Completed);
    let [disturbance] = &info.faults[..] else {
        panic!("{:?}", info.faults);
    };
    let (killed, started, ready) = (
        disturbance.begun_s,
        disturbance.started_s.unwrap(),
        disturbance.ready_s.unwrap(),
    );
    assert!(killed >= 0.49 && started >= killed + 0.99 && ready >= started);
    // The load failed while the store was down, and succeeded in its second life.
    let failures = &info.totals.other_failures;
    let is_refused = |failure: &FailureCount| failure.kind == FailureKind::Refused;
    assert!(failures.iter().any(is_refused), "{failures:?}");
    let measure = info.phase(PhaseName::Measure).unwrap();
    let in_second_life = trial
        .intervals_within(measure.start_s + ready, f64::MAX)
        .map(|row| row.counts.succeeded);
    assert!(in_second_life.sum::<u64>() > 0);
    // Records of the first life are lost, those of the second are there.
    let ledger = info.ledger.as_ref().unwrap();
    assert!(ledger.missing > 0 && ledger.delivered > 0, "{ledger:?}");
    assert_eq!(ledger.accepted, ledger.delivered + ledger.missing);
    assert_eq!((ledger.duplicates, ledger.unexpected), (0, 0));
    // Its rows continue: it uses nothing while it is dead.
    let rows = || {
        trial
            .resources
            .iter()
            .filter(|row| row.component == "store-0")
    };
    assert!(rows().any(|row| row.rss_bytes == 0 && row.at_s > measure.start_s + killed));
    assert!(rows().next_back().unwrap().rss_bytes > 0);
    // Two lives in one log, and no process of the first survived into the second.
    let log = log(&run, "store-0");
    let (first, second) = log.split_once("[waggle started it again here]").unwrap();
    assert!(first.contains("life begins") && second.contains("life begins"));
    assert!(!second.contains("\nsleep 60"), "{second}");
    assert_all_gone(&bench);
    assert!(!bench.path("run/.system").exists());
}

#[test]
fn a_store_that_does_not_come_back_fails_the_trial_with_its_last_words() {
    let once = "test -e lived && { echo no second life; exit 3; }; touch lived; exec STORE $0";
    let study = study_with_faults("60s", "{ kill: store, at: 500ms, restart_after: 100ms }");
    let bench = Bench::new(&system(once), &study);
    let run = bench.results();
    let TrialEnd::Failed {
        reason, log_tail, ..
    } = &run.trials[0].info.end
    else {
        panic!("it did not fail");
    };
    assert!(
        reason.starts_with("store-0 ended with exit code 3"),
        "{reason}"
    );
    assert_eq!(log_tail.last().map(String::as_str), Some("no second life"));
    assert_eq!(run.trials[0].info.faults[0].ready_s, None);
    assert_all_gone(&bench);
}

#[test]
fn an_end_between_two_lives_leaves_nothing_behind() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let study = study_with_faults("60s", "{ kill: store, at: 300ms, restart_after: 30s }");
        let bench = Bench::new(&system(FAMILY), &study);
        let (mut child, _lines) = started_until(&bench, "FaultBegan {");
        kill_process(pid_of(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        assert_all_gone(&bench);
        let run = Run::read(&bench.path("run")).unwrap();
        assert!(run.trials.is_empty());
    }
}

#[test]
fn an_end_in_a_second_life_that_is_not_ready_leaves_nothing_behind() {
    let never_ready =
        "test -e lived && { sleep 600 & touch again; exec sleep 601; }; touch lived; exec STORE $0";
    let study = study_with_faults("60s", "{ kill: store, at: 300ms, restart_after: 0s }");
    let bench = Bench::new(&system(never_ready), &study);
    let (mut child, _lines) = started_until(&bench, "FaultBegan {");
    let again = bench.path("run/.system/store-0/again");
    wait_until("its second life has begun", || again.exists());
    kill_process(pid_of(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_all_gone(&bench);
}
