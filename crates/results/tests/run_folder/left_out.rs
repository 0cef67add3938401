//! Artifacts that a run used, and cells that it left out, for each reason.

use waggle_results::{ArtifactInfo, CellInfo, LeftOutInfo, LeftOutReason};

pub(crate) fn left_out() -> Vec<LeftOutInfo> {
    let one = |cell: u32, reason: LeftOutReason| LeftOutInfo {
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
        one(3, requires),
        one(4, failed),
        one(5, LeftOutReason::Partner { cell: 4 }),
    ]
}

pub(crate) fn artifacts() -> Vec<ArtifactInfo> {
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
