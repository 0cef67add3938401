//! What was sent before and beside the load of a made-up trial.

use waggle_results::{
    CountsRow, FailureCount, FailureKind, FillInfo, GeneratorInfo, LoadInfo, LoadStepInfo,
    PreparationInfo, QuantilePoint, QuantilesInfo, StepCounts, TrialInfo, TrialKey,
};
use waggle_spec::LoadRole;

/// A trial whose system was filled, and with four connections that list, but in the first cell.
pub(super) fn with_side_loads(key: TrialKey, info: TrialInfo) -> TrialInfo {
    let lists_run = key.cell > 1;
    let lists = lists_run.then(|| lists(key));
    let absent = (!lists_run).then(|| "lists".to_owned());
    TrialInfo {
        preparation: Some(PreparationInfo {
            settle_s: Some(2.0),
            snapshot: None,
        }),
        loads: [fill()].into_iter().chain(lists).collect(),
        absent_loads: absent.into_iter().collect(),
        ..info
    }
}

/// The quantiles of reports.
fn quantiles(mean_us: f64, us: [f64; 7]) -> Option<QuantilesInfo> {
    let quantiles = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];
    let points = quantiles.into_iter().zip(us);
    Some(QuantilesInfo {
        mean_us: Some(mean_us),
        points: points
            .map(|(quantile, us)| QuantilePoint { quantile, us })
            .collect(),
    })
}

fn failures(status: u16, count: u64) -> Vec<FailureCount> {
    vec![FailureCount {
        kind: FailureKind::Status(status),
        count,
    }]
}

/// A load of 2,000 sessions that took 12.5 s.
fn fill() -> LoadInfo {
    let times = quantiles(
        5_200.0,
        [
            4_100.0, 9_000.0, 12_000.0, 30_000.0, 55_000.0, 80_000.0, 81_000.0,
        ],
    );
    LoadInfo {
        role: LoadRole::Preparation,
        name: "fill".to_owned(),
        counts: CountsRow {
            seconds: 12.5,
            sent: 2_003,
            succeeded: 2_000,
            failed: 3,
            failures: failures(503, 3),
            ..CountsRow::default()
        },
        response_time: times.clone(),
        fill: Some(FillInfo {
            sessions: 2_000,
            done_before: 0,
            completed: 2_000,
            failed: 0,
            retries: 3,
        }),
        steps: vec![LoadStepInfo {
            name: "create".to_owned(),
            counts: StepCounts {
                sent: 2_003,
                succeeded: 2_000,
                failed: 3,
                failures: failures(503, 3),
            },
            response_time: times,
        }],
        ..LoadInfo::default()
    }
}

fn lists(key: TrialKey) -> LoadInfo {
    let slower = 1.0 + 0.01 * f64::from(key.repetition);
    let times = |first_us: f64| {
        let factors = [1.0, 1.4, 1.6, 2.1, 2.8, 2.9, 3.0];
        let us = factors.map(|factor| first_us * slower * factor);
        quantiles(first_us * slower * 1.1, us)
    };
    LoadInfo {
        role: LoadRole::Background,
        name: "lists".to_owned(),
        counts: CountsRow {
            seconds: 3.0,
            sent: 122,
            succeeded: 120,
            failed: 2,
            bytes_sent: 24_400,
            bytes_received: 122 * 400_000,
            failures: failures(429, 2),
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
        ..LoadInfo::default()
    }
}
