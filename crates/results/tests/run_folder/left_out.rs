//! Artifacts that a run used, and cells that it left out for each reason, are read as they were written.

use waggle_results::{
    ArtifactInfo, CellInfo, LeftOutInfo, LeftOutReason, RunFolder, RunInfo, run_info,
};

use crate::sample;

#[test]
fn cells_that_were_left_out_come_back_with_their_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let info = RunInfo {
        artifacts: artifacts(),
        left_out: left_out(),
        ..sample::run_info()
    };
    RunFolder::create(&run, &info, sample::STUDY, sample::SYSTEM).unwrap();
    assert_eq!(run_info(&run).unwrap(), info);
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    for part in ["\"fetch_failed\": {", "\"requires\": {", "\"partner\": {"] {
        assert!(text.contains(part), "{text}");
    }
}

fn left_out() -> Vec<LeftOutInfo> {
    let entry = |cell: u32, reason: LeftOutReason| LeftOutInfo {
        cell: CellInfo {
            cell,
            levels: vec![("connections".into(), (cell * 100).to_string())],
            derived: Vec::new(),
            name: None,
            expect_verdict: None,
            is_sentinel: false,
        },
        reason,
    };
    let (artifact, version) = ("influxd".to_owned(), "2.7".to_owned());
    let requires = LeftOutReason::Requires {
        artifact: artifact.clone(),
        version: version.clone(),
        programs: vec!["go".into()],
    };
    let failed = LeftOutReason::FetchFailed {
        artifact,
        version,
        why: "the script fetch/influxd ended with exit code 1: no route to host".into(),
        failed_utc: "2026-01-02T03:04:05Z".into(),
    };
    vec![
        entry(3, requires),
        entry(4, failed),
        entry(5, LeftOutReason::Partner { cell: 4 }),
    ]
}

fn artifacts() -> Vec<ArtifactInfo> {
    vec![
        ArtifactInfo {
            name: "kafka".into(),
            version: Some("4.1.2".into()),
            cells: vec![1, 2],
        },
        ArtifactInfo {
            name: "telegraf".into(),
            version: None,
            cells: vec![2],
        },
    ]
}
