//! A component that dies in the middle of a trial: that trial is failed, with its last words, and the study goes on.

use std::fs;
use std::path::Path;

use waggle_analysis::TrialModel;
use waggle_results::PhaseName;
use waggle_stats::Verdict;

use crate::desk::{Desk, Parts};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.system("mortal");
    let script = "systems/mortal/guard";
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    fs::copy(from.join(script), desk.path().join(script)).unwrap();
    desk.study(&Parts {
        repeat: 2,
        ..Parts::default()
    });
    let study = desk.path().join("study.yaml");
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("use: faulty, set: { fault: none }", "use: mortal");
    fs::write(&study, text + "factors:\n  guard: [none, mortal]\n").unwrap();
    desk
}

#[test]
fn a_replica_that_only_some_configurations_have_fails_the_one_trial_it_dies_in() {
    let desk = desk();
    let trials = desk.run().trials;
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
        let ledger = other.ledger.as_ref().unwrap();
        assert!(ledger.accepted > 0 && ledger.missing == 0, "{other:#?}");
    }
    for page in ["report.html", "report.md"] {
        let page = fs::read_to_string(desk.run_folder().join(page)).unwrap();
        for text in [&failure.reason, last[1]] {
            assert!(page.contains(text), "{text:?} is not in the report");
        }
    }
}
