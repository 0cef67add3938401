//! The intervals of one trial, added up: what its result and the live view are made of.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_analysis::{Course, Length};
use waggle_load::{Counts, Interval};
use waggle_results::{CountsRow, EngineInfo, IntervalRow, MachineInfo, TrialEnd, TrialInfo};
use waggle_runner::counts::{Carried, Measured, certificate_is_refused, interval_row, row};

use super::{gather::histogram, phase::Phase, shape::Shape, steps::Steps};

/// What has been seen of a trial so far.
#[derive(Debug)]
pub(crate) struct SoFar {
    pub(crate) shape: Shape,
    /// Within the measured time.
    pub(crate) measured: Measured,
    /// From the measured time on until the end.
    pub(crate) all: Measured,
    /// The whole run, warm-up included.
    pub(crate) totals: Counts,
    pub(crate) ran_for: Duration,
    pub(crate) in_flight_at_start: u64,
    pub(crate) in_flight: u64,
    pub(crate) response_time: Histogram<u64>,
    /// Of the measured time alone, as the counts that are judged.
    pub(crate) service_time_measured: Histogram<u64>,
    pub(crate) service_time: Histogram<u64>,
    pub(crate) failed_time: Histogram<u64>,
    pub(crate) connect_time: Histogram<u64>,
    pub(crate) handshake_time: Histogram<u64>,
    /// From the measured time on until the end; none without a scenario.
    pub(crate) steps: Steps,
    /// The series of the measured time.
    pub(crate) course: Course,
    pub(crate) interrupted: bool,
    /// Why the trial did not come to its end.
    pub(crate) failure: Option<String>,
    /// What the CPUs did in the measured time; `None`: not known.
    pub(crate) cpus: Option<MachineInfo>,
    /// Whether loops were to keep them awake.
    pub(crate) kept_awake: bool,
}

impl SoFar {
    /// Before the first interval.
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            course: Course::new(
                shape.connections,
                shape.interval.as_secs_f64(),
                Length::Unknown,
            ),
            shape,
            measured: Measured::new(),
            all: Measured::new(),
            totals: Counts::default(),
            ran_for: Duration::ZERO,
            in_flight_at_start: 0,
            in_flight: 0,
            response_time: histogram(),
            service_time_measured: histogram(),
            service_time: histogram(),
            failed_time: histogram(),
            connect_time: histogram(),
            handshake_time: histogram(),
            steps: Steps::default(),
            interrupted: false,
            failure: None,
            cpus: None,
            kept_awake: false,
        }
    }

    /// The whole run as a row.
    pub(crate) fn totals_row(&self) -> CountsRow {
        let records = self.totals.succeeded * u64::from(self.shape.records_per_request);
        row(&self.totals, self.ran_for, 0, records)
    }

    /// Not one connection came about, because the server's certificate is not taken.
    pub(crate) fn certificate_is_refused(&self) -> bool {
        certificate_is_refused(&self.totals)
    }

    /// What the engine says of itself over the measured time.
    pub(crate) fn engine(&self) -> EngineInfo {
        let shape = &self.shape;
        self.measured
            .engine(shape.workers, shape.connections, shape.offered_per_s)
    }

    /// The trial has ended, and its result says what its intervals do not.
    pub(crate) fn end(&mut self, info: &TrialInfo) {
        if let TrialEnd::Failed { reason, .. } = &info.end {
            self.failure = Some(reason.clone());
        }
        let (totals, told) = (&mut self.totals, &info.totals);
        (totals.due, totals.sent, totals.skipped) = (told.due, told.sent, told.skipped);
        (totals.succeeded, totals.failed) = (told.succeeded, told.failed);
        self.ran_for = Duration::from_secs_f64(told.seconds.max(0.0));
        if let Some(told) = info.connecting {
            totals.connects = told.connects;
            totals.handshakes = told.handshakes;
            totals.handshakes_resumed = told.handshakes_resumed;
        }
        self.cpus = info.machine.or(self.cpus);
    }

    /// One more interval.
    pub(crate) fn add(&mut self, interval: &Interval, phase: Phase) {
        let counts = &interval.counts;
        self.totals.follow(counts);
        self.ran_for = interval.start + interval.length;
        for (sum, part) in [
            (&mut self.connect_time, &interval.connect_time),
            (&mut self.handshake_time, &interval.handshake_time),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        let before = std::mem::replace(&mut self.in_flight, counts.in_flight);
        let carried = Carried::ByEach(self.shape.records_per_request);
        let row = interval_row(interval, before, &carried);
        if phase == Phase::WarmUp {
            self.in_flight_at_start = counts.in_flight;
            self.course.add_warm_up(&row);
            return;
        }
        self.all.add(interval, &row.counts);
        self.steps.add(&interval.steps);
        for (sum, part) in [
            (&mut self.response_time, &interval.response_time),
            (&mut self.service_time, &interval.service_time),
            (&mut self.failed_time, &interval.failed_time),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        if phase == Phase::Measured {
            self.add_measured(interval, &row);
        }
    }

    fn add_measured(&mut self, interval: &Interval, row: &IntervalRow) {
        let add = |sum: &mut Histogram<u64>, part| {
            sum.add(part).expect("both reach as far as they need");
        };
        self.course
            .add(row, |sum| add(sum, &interval.response_time));
        self.measured.add(interval, &row.counts);
        add(&mut self.service_time_measured, &interval.service_time);
    }
}

/// `part ÷ whole`; 0 where there is no whole, for a result knows no other number.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
