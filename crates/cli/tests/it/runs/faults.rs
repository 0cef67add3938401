//! Fault injection: a study kills a store in mid-trial; the plan announces it, and the report shows its effects.

use std::fs;

use waggle_analysis::TrialRemark;
use waggle_stats::{Finding, SystemFinding, Verdict};

use crate::workspace::{Parts, Workspace, output_text};

/// The store keeps records in memory.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.study(&Parts {
        measure: "15s",
        ..Parts::default()
    });
    let file = workspace.path().join("study.yaml");
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str(
        "factors:\n  victim: [none, store]\nfaults:\n  - { kill: \"${victim}\", at: 1s, restart_after: 2s }\n",
    );
    fs::write(&file, text).unwrap();
    workspace
}

#[test]
fn records_of_a_killed_store_are_missing_and_the_trial_continues() {
    let workspace = workspace();
    let plan = workspace.output(&["plan", "study.yaml"]);
    let text = String::from_utf8_lossy(&plan.stdout).into_owned();
    let killed = "store-0 is killed 1s into the measured phase and restarted 2s later";
    assert_eq!(text.matches(killed).count(), 1, "{text}");

    let output = workspace.output(&["run", "study.yaml", "--quiet"]);
    // The cell with missing records is not reliable.
    assert_eq!(output.status.code(), Some(4), "{}", output_text(&output));
    let model = workspace.report_of(&output);
    let [quiet, faulty] = &model.trials[..] else {
        panic!("{:?}", model.trials);
    };
    assert!(quiet.faults.is_none());
    assert_eq!(quiet.info.ledger.as_ref().unwrap().missing, 0);

    let ledger = faulty.info.ledger.as_ref().unwrap();
    assert!(ledger.missing > 0 && ledger.delivered > 0, "{ledger:?}");
    assert_eq!(ledger.accepted, ledger.delivered + ledger.missing);
    assert!(faulty.verdict >= Verdict::Incomplete);
    let mut reasons = faulty.reasons.iter().map(|reason| reason.verdict);
    assert!(reasons.all(|verdict| verdict != Verdict::Unsteady));
    assert!(
        faulty.remarks.iter().any(|remark| matches!(
            remark,
            TrialRemark::Found(Finding::System(SystemFinding::NotJudged(killed)))
                if killed[0].name == "store-0"
        )),
        "{:?}",
        faulty.remarks
    );
    let faults = faulty.faults.as_ref().unwrap();
    // Connections are refused while the store is down. Failed requests are not certain: they must be in flight at the kill.
    assert!(!faults.other_failures.is_empty(), "{faults:?}");
    // An outage of two seconds contains two complete intervals on any machine.
    assert!(faults.outage.unwrap().us >= 500e3, "{faults:?}");
    for (page, expected) in [
        ("report.html", "id=\"faults\""),
        ("report.md", "## Fault injection"),
        ("tables.csv", "longest_outage_s"),
    ] {
        let text = fs::read_to_string(workspace.run_folder().join(page)).unwrap();
        assert!(text.contains(expected), "{page}");
        assert!(text.contains("store-0"), "{page}");
    }
}

#[test]
fn unknown_component_in_faults_is_refused() {
    let workspace = workspace();
    let file = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[none, store]", "[none, stroe]")).unwrap();
    let output = workspace.output(&["run", "study.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("which is no component of system faulty") && text.contains("\"store\"?"),
        "{text}"
    );
    assert!(!workspace.path().join("runs").exists());
}
