//! What ran beside the load of a made-up trial.

use waggle_results::{
    BackgroundInfo, BackgroundLoadInfo, CountsRow, FailureCount, FailureKind, GeneratorInfo,
    QuantilePoint, QuantilesInfo, TrialKey,
};

/// Four connections that list, but in the first cell.
pub(super) fn background(key: TrialKey) -> Vec<BackgroundInfo> {
    let load = (key.cell > 1).then(|| lists(key));
    vec![BackgroundInfo {
        name: "lists".to_owned(),
        load,
    }]
}

fn lists(key: TrialKey) -> BackgroundLoadInfo {
    let slower = 1.0 + 0.01 * f64::from(key.repetition);
    let times = |first_us: f64| {
        let points = [
            (0.5, 1.0),
            (0.9, 1.4),
            (0.95, 1.6),
            (0.99, 2.1),
            (0.999, 2.8),
            (0.9999, 2.9),
            (1.0, 3.0),
        ];
        let point = |(quantile, factor): (f64, f64)| QuantilePoint {
            quantile,
            us: first_us * slower * factor,
        };
        Some(QuantilesInfo {
            mean_us: Some(first_us * slower * 1.1),
            points: points.map(point).to_vec(),
        })
    };
    BackgroundLoadInfo {
        measured: CountsRow {
            seconds: 3.0,
            sent: 122,
            succeeded: 120,
            failed: 2,
            bytes_sent: 24_400,
            bytes_received: 122 * 400_000,
            failures: vec![FailureCount {
                kind: FailureKind::Status(429),
                count: 2,
            }],
            ..CountsRow::default()
        },
        generator: GeneratorInfo {
            workers: 1,
            connections_asked: 4,
            connections_open_min: 4,
            utilization: 0.005,
            utilization_wanted: 0.006,
            in_flight_asked: Some(4.0),
            in_flight_mean: 3.9 * slower,
            ..GeneratorInfo::default()
        },
        response_time: times(90_000.0),
        service_time: times(89_900.0),
    }
}
