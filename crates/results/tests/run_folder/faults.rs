//! What was killed in mid-trial: written and read again.

use waggle_results::{FaultInfo, Run, TrialInfo};

use waggle_spec::FaultKind;

use crate::sample;

#[test]
fn faults_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::create(folder.path());
    let key = sample::key(2, 1);
    let killed = FaultInfo {
        kind: FaultKind::Kill,
        component: "orders".to_owned(),
        replica: Some(1),
        begun_s: 0.501,
        started_s: Some(0.75),
        ready_s: None,
    };
    let info = TrialInfo {
        faults: vec![killed.clone()],
        ..sample::trial_info(key, 1)
    };
    run.begin(key).unwrap().finish(&info).unwrap();
    let read = Run::read(folder.path()).unwrap();
    assert_eq!(read.trials[0].info, info);
    assert_eq!(killed.name(), "orders-1");
}
