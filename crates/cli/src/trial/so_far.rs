//! The sums of a trial's intervals, while it runs.

use std::time::Duration;

use waggle_analysis::{Course, Length};
use waggle_load::Interval;
use waggle_report::wording::causes::Place;
use waggle_results::{CountsRow, GeneratorInfo, IntervalRow, MachineInfo};
use waggle_runner::counts::{Carried, Measured, TlsObstacle, interval_row, row, tls_obstacle};
use waggle_spec::TimeKind;

use super::{phase::Phase, shape::Shape};

/// The sums of a trial so far.
#[derive(Debug)]
pub(crate) struct SoFar {
    pub(crate) shape: Shape,
    /// The measured phase.
    pub(crate) measured: Measured,
    /// From the start of the measured phase to the end.
    pub(crate) all: Measured,
    /// The whole trial, warm-up included.
    pub(crate) whole: Interval,
    pub(crate) ran_for: Duration,
    pub(crate) in_flight: u64,
    /// The time series of the measured phase.
    pub(crate) course: Course,
    /// CPU times of the machine in the measured phase; `None`: not known.
    pub(crate) cpus: Option<MachineInfo>,
    /// Of how many CPUs; 0: not known yet.
    pub(crate) cpu_count: u32,
    /// Where its settings are named.
    pub(crate) place: Place,
    /// Whether idle polling was requested.
    pub(crate) idle_poll: bool,
}

impl SoFar {
    /// Before the first interval.
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            course: Course::new(
                Some(shape.generator.connections),
                shape.interval.as_secs_f64(),
                Length::Unknown,
            ),
            whole: Interval::new(0, Duration::ZERO, shape.steps.len()),
            shape,
            measured: Measured::default(),
            all: Measured::default(),
            ran_for: Duration::ZERO,
            in_flight: 0,
            cpus: None,
            cpu_count: 0,
            place: Place::Flags,
            idle_poll: false,
        }
    }

    /// The whole trial as a row.
    pub(crate) fn totals_row(&self) -> CountsRow {
        let totals = &self.whole.counts;
        let records = totals.succeeded * u64::from(self.shape.records_per_request);
        row(totals, self.ran_for, 0, records)
    }

    /// Why no connection was opened, and none will be.
    pub(crate) fn tls_obstacle(&self) -> Option<TlsObstacle> {
        tls_obstacle(&self.whole.counts)
    }

    /// Metrics of the load generator in the measured phase.
    pub(crate) fn engine(&self) -> GeneratorInfo {
        self.measured.engine(&self.shape.generator)
    }

    /// Adds an interval.
    pub(crate) fn add(&mut self, interval: &Interval, phase: Phase) {
        let counts = &interval.counts;
        self.whole.follow(interval);
        self.ran_for = interval.start + interval.length;
        let before = std::mem::replace(&mut self.in_flight, counts.in_flight);
        let carried = Carried::ByEach(self.shape.records_per_request);
        let row = interval_row(interval, before, &carried);
        if phase == Phase::WarmUp {
            self.course.add_warm_up(&row);
            return;
        }
        self.all.add(interval, &row.counts);
        if phase == Phase::Measured {
            self.add_measured(interval, &row);
        }
    }

    fn add_measured(&mut self, interval: &Interval, row: &IntervalRow) {
        let times = &interval.times[TimeKind::Response];
        self.course.add(row, |sum| {
            sum.add(times)
                .expect("both histograms have the same bounds");
        });
        self.measured.add(interval, &row.counts);
    }
}

/// `part ÷ whole`; 0 if `whole` is 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
