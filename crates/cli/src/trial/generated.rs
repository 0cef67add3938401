//! Generated intervals, for tests.

use std::time::Duration;

use waggle_load::{Counts, Failure, Failures, Interval};
use waggle_runner::counts::GeneratorSettings;
use waggle_spec::TimeKind;
use waggle_stats::LoadModel;

use super::{aggregate::histogram, shape::Shape};

const LENGTH: Duration = Duration::from_millis(250);

/// Requests of one interval.
#[derive(Clone, Copy)]
pub(crate) struct IntervalSpec {
    pub(crate) answers: u64,
    pub(crate) failures: u64,
    /// Fell due and were not sent in time.
    pub(crate) late: u64,
    /// Mean response time in µs.
    pub(crate) us: u64,
}

pub(crate) const CALM: IntervalSpec = IntervalSpec {
    answers: 2_000,
    failures: 0,
    late: 0,
    us: 500,
};

/// The shape of a load of such intervals.
pub(crate) fn shape() -> Shape {
    Shape {
        model: LoadModel::Closed,
        generator: GeneratorSettings::default(),
        has_stages: false,
        requests_at_most: None,
        interval: LENGTH,
        records_per_request: 0,
        steps: Vec::new(),
        good_statuses: vec!["200".to_owned()],
        tls_hint: |_| "",
    }
}

/// A consistent interval.
pub(crate) fn interval(index: u64, made: IntervalSpec, waiting: &mut u64) -> Interval {
    let (mut times, mut lag, mut failed_time) = (histogram(), histogram(), histogram());
    let mut service = histogram();
    let mut sum_us = 0;
    for answer in 0..made.answers {
        // Between 0.5 and 1.5 times the mean, and occasionally ten times the mean.
        let spread = made.us / 2 + (answer * 7_919 + index * 31) % made.us.max(1);
        let us = if answer % 500 == 499 {
            10 * made.us
        } else {
            spread
        };
        sum_us += us;
        times.record(us + *waiting / 10).unwrap();
        service.record(us).unwrap();
        lag.record(2 + answer % 9).unwrap();
    }
    failed_time.record_n(made.us, made.failures).unwrap();
    *waiting += made.late;
    let inputs = Duration::from_micros(made.failures * made.us);
    let mut failures = Failures::default();
    if made.failures > 0 {
        failures.add(Failure::Status(503), made.failures);
    }
    let ended = made.answers + made.failures;
    let cpu = Duration::from_micros(5 * ended);
    let start = LENGTH * u32::try_from(index).unwrap();
    let mut interval = Interval::new(index, start, 0);
    interval.length = LENGTH;
    interval.counts = Counts {
        due: ended + made.late,
        sent: ended,
        succeeded: made.answers,
        failed: made.failures,
        failures,
        connections_open: 4,
        connects: if index == 0 { 4 } else { 0 },
        bytes_sent: 60 * ended,
        bytes_received: 80 * ended,
        engine_cpu: cpu,
        engine_cpu_busiest: cpu,
        engine_cpu_wanted_busiest: cpu,
        engine_time_slices: ended,
        in_flight_time: Duration::from_micros(sum_us) + inputs,
        in_flight_unexplained_ns: i64::try_from(inputs.as_nanos()).unwrap(),
        ..Counts::default()
    };
    interval.times[TimeKind::Response] = times;
    interval.times[TimeKind::Service] = service;
    interval.times[TimeKind::Failed] = failed_time;
    interval.times[TimeKind::Lag] = lag;
    let connects = interval.counts.connects;
    interval.times[TimeKind::Connect]
        .record_n(90, connects)
        .unwrap();
    interval
}
