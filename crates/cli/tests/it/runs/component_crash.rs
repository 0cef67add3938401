//! A component that ends in mid-trial: the trial fails, with the end of its log, and the study continues.

use std::{fs, path::Path};

use waggle_analysis::TrialModel;
use waggle_results::PhaseName;
use waggle_stats::Verdict;

use crate::workspace::{Parts, Workspace};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.system("mortal");
    let script = "systems/mortal/guard";
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    fs::copy(from.join(script), workspace.path().join(script)).unwrap();
    workspace.study(&Parts {
        repeat: 2,
        ..Parts::default()
    });
    let study = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("use: faulty, set: { fault: none }", "use: mortal");
    fs::write(&study, text + "factors:\n  guard: [none, mortal]\n").unwrap();
    workspace
}

#[test]
fn replica_that_ends_in_mid_trial_fails_this_trial_only() {
    let workspace = workspace();
    let trials = workspace.run().trials;
    assert_eq!(trials.len(), 4);
    let (failed, others): (Vec<&TrialModel>, Vec<&TrialModel>) =
        trials.iter().partition(|trial| trial.failure.is_some());
    assert_eq!(failed.len(), 1, "{failed:#?}");
    let (trial, failure) = (failed[0], failed[0].failure.as_ref().unwrap());
    assert_eq!(trial.levels, [("guard".to_owned(), "mortal".to_owned())]);
    assert_eq!(trial.verdict, Verdict::Failed);
    assert_eq!(failure.reason, "guard-1 ended with exit code 7");
    assert!(failure.phase > PhaseName::Ready, "{failure:?}");
    let last = ["guard 1 begins: dies", "fatal: the last words of a store"];
    assert_eq!(failure.log_tail, last);
    for other in others {
        let ledger = other.info.ledger.as_ref().unwrap();
        assert!(ledger.accepted > 0 && ledger.missing == 0, "{other:#?}");
    }
    for page in ["report.html", "report.md"] {
        let page = fs::read_to_string(workspace.run_folder().join(page)).unwrap();
        for text in [&failure.reason, last[1]] {
            assert!(page.contains(text), "{text:?} is not in the report");
        }
    }
}
