//! The intervals of one trial, added up: what its result and the live view are made of.

use std::time::Duration;

use hdrhistogram::Histogram;
use waggle_analysis::judge::served;
use waggle_load::{Counts, Interval};
use waggle_results::{CountsRow, EngineInfo, IntervalRow, MachineInfo, TrialEnd, TrialInfo};
use waggle_runner::counts::{Carried, Measured, certificate_is_refused, interval_row, row};
use waggle_stats::Served;

use super::{
    gather::{Gather, Gathered, as_f64, histogram, quantile},
    phase::Phase,
    shape::Shape,
    steps::Steps,
};

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
    /// Open at the end of each measured interval.
    pub(crate) connections_open: Vec<u64>,
    /// Of each measured interval: its end, and due and answered up to it.
    pub(crate) answers: Vec<(f64, u64, u64)>,
    /// What came of requests in each measured interval.
    pub(crate) served: Vec<Served>,
    /// When the first bin began, in seconds of the measured time.
    pub(crate) bins_from_s: f64,
    /// Each measured interval that is tested for steadiness, and each whole second of them.
    pub(crate) bins: Vec<Bin>,
    pub(crate) second_bins: Vec<Bin>,
    pub(crate) interrupted: bool,
    /// Why the trial did not come to its end.
    pub(crate) failure: Option<String>,
    /// What the CPUs did in the measured time; `None`: not known.
    pub(crate) cpus: Option<MachineInfo>,
    /// Whether loops were to keep them awake.
    pub(crate) kept_awake: bool,
    seconds: Gather,
    fine: Gather,
    opening: Opening,
}

/// The start, in which connections are opened.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// So many were open at the end of the interval before; `None`: there was none.
    Since(Option<u64>),
    Over,
}

/// One value of each series that is tested for steadiness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bin {
    pub(crate) seconds: f64,
    pub(crate) throughput: f64,
    /// Not a number without a sample.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Bin {
    fn of(gathered: &Gathered) -> Self {
        let seconds = gathered.length.as_secs_f64();
        let at = |wanted| quantile(&gathered.response_time, wanted).map_or(f64::NAN, as_f64);
        Self {
            seconds,
            throughput: ratio(as_f64(gathered.counts.succeeded), seconds),
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

impl SoFar {
    /// Before the first interval.
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
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
            connections_open: Vec::new(),
            answers: Vec::new(),
            served: Vec::new(),
            bins_from_s: 0.0,
            bins: Vec::new(),
            second_bins: Vec::new(),
            interrupted: false,
            failure: None,
            cpus: None,
            kept_awake: false,
            seconds: Gather::new(Duration::from_secs(1)),
            fine: Gather::new(Duration::ZERO),
            opening: Opening::Since(None),
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
        self.add_counts(interval, phase);
        self.add_bins(interval, phase);
    }

    fn add_bins(&mut self, interval: &Interval, phase: Phase) {
        // A load that ends by a count ends within an interval, which says nothing about its level.
        let is_whole = interval.length >= self.shape.interval;
        let is_opening = self.is_opening(interval.counts.connections_open);
        if phase == Phase::Measured && is_opening {
            // A start and no level.
            self.bins_from_s += interval.length.as_secs_f64();
        } else if phase == Phase::Measured && is_whole {
            let fine = self.fine.add(interval);
            self.bins.extend(fine.as_ref().map(Bin::of));
            let second = self.seconds.add(interval);
            self.second_bins.extend(second.as_ref().map(Bin::of));
        }
    }

    /// Whether connections were being opened in an interval at whose end so many are: until all are, or as many as there
    /// will be.
    fn is_opening(&mut self, open: u64) -> bool {
        let Opening::Since(before) = self.opening else {
            return false;
        };
        let asked = self.shape.connections;
        let is_over = before.is_some_and(|before| before >= asked || open <= before);
        self.opening = if is_over {
            Opening::Over
        } else {
            Opening::Since(Some(open))
        };
        !is_over
    }

    fn add_counts(&mut self, interval: &Interval, phase: Phase) {
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
        if phase == Phase::WarmUp {
            self.in_flight_at_start = counts.in_flight;
            return;
        }
        let carried = Carried::ByEach(self.shape.records_per_request);
        let row = interval_row(interval, before, &carried);
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
            self.measured(interval, &row);
        }
    }

    fn measured(&mut self, interval: &Interval, row: &IntervalRow) {
        self.served.push(served(row));
        let row = &row.counts;
        self.measured.add(interval, row);
        self.service_time_measured
            .add(&interval.service_time)
            .expect("all histograms have the same bounds");
        self.connections_open.push(interval.counts.connections_open);
        let (_, due, done) = self.answers.last().copied().unwrap_or_default();
        self.answers.push((
            (interval.start + interval.length).as_secs_f64(),
            due + row.due,
            done + row.succeeded + row.failed,
        ));
    }
}

/// `part ÷ whole`; 0 where there is no whole, for a result knows no other number.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
