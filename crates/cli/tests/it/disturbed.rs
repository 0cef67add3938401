//! A store that a study kills in mid-trial: what the plan says before, and what the report says after.

use std::fs;

use waggle_analysis::TrialRemark;
use waggle_stats::{Finding, SystemFinding, Verdict};

use crate::desk::{Desk, Parts, output_text};

/// The store keeps records in memory.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.study(&Parts {
        measure: "15s",
        ..Parts::default()
    });
    let file = desk.path().join("study.yaml");
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str(
        "factors:\n  victim: [none, store]\nfaults:\n  - { kill: \"${victim}\", at: 1s, restart_after: 2s }\n",
    );
    fs::write(&file, text).unwrap();
    desk
}

#[test]
fn what_a_killed_store_had_is_missing_and_all_else_goes_on() {
    let desk = desk();
    let plan = desk.output(&["plan", "study.yaml"]);
    let told = String::from_utf8_lossy(&plan.stdout).into_owned();
    let killed = "store-0 is killed 1s into the measured phase and restarted 2s later";
    assert_eq!(told.matches(killed).count(), 1, "{told}");

    let output = desk.output(&["run", "study.yaml", "--quiet"]);
    // Of the cell in which records are missing nothing counts.
    assert_eq!(output.status.code(), Some(4), "{}", output_text(&output));
    let model = desk.report_of(&output);
    let [quiet, disturbed] = &model.trials[..] else {
        panic!("{:?}", model.trials);
    };
    assert!(quiet.faults.is_none());
    assert_eq!(quiet.ledger.as_ref().unwrap().missing, 0);

    let ledger = disturbed.ledger.as_ref().unwrap();
    assert!(ledger.missing > 0 && ledger.delivered > 0, "{ledger:?}");
    assert_eq!(ledger.accepted, ledger.delivered + ledger.missing);
    assert!(disturbed.verdict >= Verdict::Incomplete);
    let mut reasons = disturbed.reasons.iter().map(|reason| reason.verdict);
    assert!(reasons.all(|verdict| verdict != Verdict::Unsteady));
    assert!(
        disturbed.remarks.iter().any(|told| matches!(
            told,
            TrialRemark::Found(Finding::System(SystemFinding::NotJudged(killed)))
                if killed[0].name == "store-0"
        )),
        "{:?}",
        disturbed.remarks
    );
    let found = disturbed.faults.as_ref().unwrap();
    // No connection was taken while it was down; requests fail only where some were under way when it died, which at
    // this rate is chance.
    assert!(!found.failures.is_empty(), "{found:?}");
    // It was down for two seconds, which have two whole intervals in them on any machine.
    assert!(found.outage.unwrap().us >= 500e3, "{found:?}");
    for (page, there) in [
        ("report.html", "id=\"faults\""),
        ("report.md", "## Fault injection"),
        ("tables.csv", "longest_outage_s"),
    ] {
        let text = fs::read_to_string(desk.run_folder().join(page)).unwrap();
        assert!(text.contains(there), "{page}");
        assert!(text.contains("store-0"), "{page}");
    }
}

#[test]
fn what_cannot_be_killed_is_a_mistake_of_the_study() {
    let desk = desk();
    let file = desk.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[none, store]", "[none, stroe]")).unwrap();
    let output = desk.output(&["run", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("which is no component of system faulty") && told.contains("\"store\"?"),
        "{told}"
    );
    assert!(!desk.path().join("runs").exists());
}
