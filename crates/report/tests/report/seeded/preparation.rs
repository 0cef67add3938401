//! How the system of a made-up trial was prepared.

use waggle_results::{
    FailureCount, FailureKind, PreparationInfo, PrepareLoadInfo, PrepareStepInfo, QuantilePoint,
    QuantilesInfo, StepCounts,
};

/// A load of 2,000 sessions that took 12.5 s.
pub(super) fn preparation() -> PreparationInfo {
    let counts = StepCounts {
        sent: 2_003,
        succeeded: 2_000,
        failed: 3,
        failures: vec![FailureCount {
            kind: FailureKind::Status(503),
            count: 3,
        }],
    };
    let point = |(quantile, us): (f64, f64)| QuantilePoint { quantile, us };
    let points = [
        (0.5, 4_100.0),
        (0.9, 9_000.0),
        (0.95, 12_000.0),
        (0.99, 30_000.0),
        (0.999, 55_000.0),
        (0.9999, 80_000.0),
        (1.0, 81_000.0),
    ];
    let times = QuantilesInfo {
        mean_us: Some(5_200.0),
        points: points.map(point).to_vec(),
    };
    PreparationInfo {
        loads: vec![PrepareLoadInfo {
            name: "fill".to_owned(),
            sessions: 2_000,
            done_before: 0,
            completed: 2_000,
            failed: 0,
            retries: 3,
            seconds: 12.5,
            counts: counts.clone(),
            response_time: Some(times.clone()),
            steps: vec![PrepareStepInfo {
                name: "create".to_owned(),
                counts,
                response_time: Some(times),
            }],
        }],
        settle_s: Some(2.0),
        snapshot: None,
    }
}
