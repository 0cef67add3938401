//! The engine's counts → the rows on disk. Pure.

mod generators;
mod remarks;
mod step_failures;
mod tls_obstacle;

use std::{borrow::Cow, time::Duration};

use hdrhistogram::Histogram;
use waggle_load::{self as load, Counts, Failure, Interval, RequestOutcome};
use waggle_results::{
    CountsRow, FailureCount, GeneratorInfo, InspectedCounts, IntervalRow, LagInfo, SessionCounts,
    StepCounts,
};
use waggle_spec::{Arrivals, LoadModel, TimeKind};
use waggle_study::{Cell, Request, What};
use waggle_system::failure_kind::failure_kind;

use self::generators::generator_parts;
pub use self::tls_obstacle::{TlsObstacle, tls_obstacle, tls_obstacle_of_trial};
pub(crate) use self::{
    remarks::{kinds, outcome_remarks},
    step_failures::StepFailures,
};
use crate::{
    histogram::{histogram, quantile},
    load::job,
    number::{as_f64, share},
};

/// What a cell asks of the load generator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GeneratorSettings {
    /// Worker threads with connections.
    pub workers: usize,
    /// Connections or users.
    pub connections: u64,
    /// Constant offered load in requests per second; `None` if it is not constant.
    pub offered_per_s: Option<f64>,
    pub arrivals: Arrivals,
    /// How many requests a closed load keeps in flight; `None` if it is not one number.
    pub in_flight: Option<f64>,
    /// The most that an open load has in flight; `None`: sessions, and connections that are opened for each request.
    pub in_flight_max: Option<u64>,
}

impl GeneratorSettings {
    /// Those of any load of this model.
    pub(crate) fn new(model: &LoadModel, workers: usize) -> Self {
        Self {
            workers,
            connections: model.connections().into(),
            ..Self::default()
        }
    }

    /// Those of a cell, with this number of worker threads.
    #[must_use]
    pub fn from_cell(cell: &Cell, workers: usize) -> Self {
        let settings = Self::new(&cell.load, workers);
        match cell.load {
            // A schedule may ask for sessions; only the first request of each falls due by it. It has no single number if the
            // load changes, or if it ends after a number of requests and then waits for the last answers.
            LoadModel::Open {
                rate_per_s,
                arrivals,
                connections,
                pipelining,
                ..
            } => Self {
                in_flight_max: keeps_in_flight(cell)
                    .then(|| u64::from(connections) * u64::from(pipelining)),
                offered_per_s: Some(rate_per_s)
                    .filter(|_| cell.scenario().is_none() && !job::ends_by_itself(cell)),
                arrivals,
                ..settings
            },
            LoadModel::Closed {
                connections,
                pipelining,
            } => Self {
                in_flight: keeps_in_flight(cell)
                    .then(|| f64::from(connections) * f64::from(pipelining)),
                ..settings
            },
            LoadModel::Users { .. } | LoadModel::Clients { .. } => settings,
        }
    }
}

/// Whether a connection may always have as many requests in flight as it pipelines: a step of a session may be a pause.
fn keeps_in_flight(cell: &Cell) -> bool {
    match &cell.what {
        What::Request(request) => keeps_connections(request),
        What::Scenario(_) => false,
    }
}

/// Whether each connection sends one request after the other: without keep-alive one is opened for each request.
pub(crate) fn keeps_connections(request: &Request) -> bool {
    let closes = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    };
    !request.headers.iter().any(closes)
}

/// Which requests carry records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// Every request carries this many.
    ByEach(u32),
    /// Each request of these steps of a scenario carries one.
    BySteps(Vec<usize>),
}

impl Carried {
    /// Which requests of a cell carry records.
    #[must_use]
    pub fn from_cell(cell: &Cell) -> Self {
        match &cell.what {
            What::Request(_) => Self::ByEach(job::records_per_request(cell)),
            What::Scenario(scenario) => Self::BySteps(scenario.steps_with_record()),
        }
    }

    /// Records of successful requests. For steps this includes answers that failed only a check after acceptance, so that the
    /// number equals the accepted records in the ledger.
    pub(crate) fn accepted_records<'a>(
        &self,
        counts: &Counts,
        steps: impl Iterator<Item = &'a load::StepCounts>,
    ) -> u64 {
        match self {
            Self::ByEach(records) => counts.succeeded * u64::from(*records),
            Self::BySteps(carrying) => steps
                .enumerate()
                .filter(|(step, _)| carrying.contains(step))
                .map(|(_, counts)| accepted_by_step(counts))
                .sum(),
        }
    }
}

fn accepted_by_step(counts: &load::StepCounts) -> u64 {
    let failures = counts.failures.0.iter();
    let after_acceptance = failures.filter(|(failure, _)| {
        RequestOutcome::from_result(Err(*failure)) == RequestOutcome::Accepted
    });
    counts.succeeded + after_acceptance.map(|(_, count)| count).sum::<u64>()
}

/// Counts as a row; `in_flight_before` is the number at the start of the period.
#[must_use]
pub fn row(
    counts: &Counts,
    length: Duration,
    in_flight_before: u64,
    records_accepted: u64,
) -> CountsRow {
    CountsRow {
        seconds: length.as_secs_f64(),
        due: counts.due,
        sent: counts.sent,
        succeeded: counts.succeeded,
        failed: counts.failed,
        skipped: counts.skipped,
        in_flight_change: counts.in_flight.cast_signed() - in_flight_before.cast_signed(),
        records_succeeded: records_accepted,
        bytes_sent: counts.bytes_sent,
        bytes_received: counts.bytes_received,
        failures: failures(&counts.failures),
        other_failures: failures(&counts.other_failures),
        inspected: inspected_counts(counts.inspected),
    }
}

/// The inspected answers on disk; `None`: none was.
fn inspected_counts(counts: load::InspectedCounts) -> Option<InspectedCounts> {
    (counts.answers > 0).then_some(InspectedCounts {
        answers: counts.answers,
        body_bytes: counts.body_bytes,
        decoded_bytes: counts.decoded_bytes,
        items: counts.items,
    })
}

/// One interval as a line of `intervals.ndjson`.
#[must_use]
pub fn interval_row(interval: &Interval, in_flight_before: u64, carried: &Carried) -> IntervalRow {
    let counts = &interval.counts;
    let steps = interval.steps.iter().map(|step| &step.counts);
    IntervalRow {
        start_s: interval.start.as_secs_f64(),
        counts: row(
            counts,
            interval.length,
            in_flight_before,
            carried.accepted_records(counts, steps),
        ),
        in_flight: counts.in_flight,
        connections_open: counts.connections_open,
        engine_cpu_s: counts.engine_cpu.as_secs_f64(),
        engine_cpu_busiest_s: counts.engine_cpu_busiest.as_secs_f64(),
        lag_p99_us: quantile(&interval.times[TimeKind::Lag], 0.99),
        in_flight_mean: share(
            counts.in_flight_time.as_secs_f64(),
            interval.length.as_secs_f64(),
        ),
        steps: interval
            .steps
            .iter()
            .map(|step| step_counts(&step.counts))
            .collect(),
        sessions: (!interval.steps.is_empty()).then(|| session_counts(counts.sessions)),
    }
}

/// One step's counts on disk.
pub(crate) fn step_counts(counts: &load::StepCounts) -> StepCounts {
    StepCounts {
        sent: counts.sent,
        succeeded: counts.succeeded,
        failed: counts.failed,
        failures: failures(&counts.failures),
    }
}

/// The sessions on disk.
pub(crate) fn session_counts(counts: load::SessionCounts) -> SessionCounts {
    SessionCounts {
        started: counts.started,
        completed: counts.completed,
        failed: counts.failed,
    }
}

fn failures(failures: &load::Failures) -> Vec<FailureCount> {
    let count = |(failure, count): &(Failure, u64)| FailureCount {
        kind: failure_kind(*failure),
        count: *count,
    };
    failures.0.iter().map(count).collect()
}

/// The sum of a load's intervals, such as those of the measured phase, with the engine's own figures.
#[derive(Debug, Default)]
pub struct Measured {
    /// `None`: there was none yet.
    sum: Option<Interval>,
    /// As the rows on disk have them, so that sums over the file give the same numbers.
    seconds: f64,
    in_flight_change: i64,
    records_succeeded: u64,
    connections_open_min: Option<u64>,
}

impl Measured {
    /// Adds one interval; `row` is its line on disk.
    pub fn add(&mut self, interval: &Interval, row: &CountsRow) {
        self.seconds += row.seconds;
        self.in_flight_change += row.in_flight_change;
        self.records_succeeded += row.records_succeeded;
        let open = interval.counts.connections_open;
        let least = self
            .connections_open_min
            .map_or(open, |least| least.min(open));
        self.connections_open_min = Some(least);
        match &mut self.sum {
            Some(sum) => sum.follow(interval),
            None => self.sum = Some(interval.clone()),
        }
    }

    /// All intervals together; `None`: there was none yet.
    #[must_use]
    pub fn sum(&self) -> Option<&Interval> {
        self.sum.as_ref()
    }

    /// All times of one kind; empty before the first interval.
    #[must_use]
    pub fn times(&self, kind: TimeKind) -> Cow<'_, Histogram<u64>> {
        match &self.sum {
            Some(sum) => Cow::Borrowed(&sum.times[kind]),
            None => Cow::Owned(histogram()),
        }
    }

    /// The counts of all intervals together.
    #[must_use]
    pub fn counts(&self) -> CountsRow {
        let Some(sum) = &self.sum else {
            return CountsRow::default();
        };
        CountsRow {
            seconds: self.seconds,
            in_flight_change: self.in_flight_change,
            ..row(&sum.counts, sum.length, 0, self.records_succeeded)
        }
    }

    /// One entry for each step of a scenario; empty before the first interval.
    #[must_use]
    pub fn steps(&self) -> Vec<StepCounts> {
        let steps = self.sum.iter().flat_map(|sum| &sum.steps);
        steps.map(|step| step_counts(&step.counts)).collect()
    }

    /// Sessions of a scenario; zero without one.
    #[must_use]
    pub fn sessions(&self) -> SessionCounts {
        let sum = self.sum.as_ref();
        sum.map_or_else(SessionCounts::default, |sum| {
            session_counts(sum.counts.sessions)
        })
    }

    /// The engine's own figures over all intervals.
    #[must_use]
    pub fn engine(&self, settings: &GeneratorSettings) -> GeneratorInfo {
        let none = Counts::default();
        let counts = self.sum.as_ref().map_or(&none, |sum| &sum.counts);
        let of_time = |time: Duration| share(time.as_secs_f64(), self.seconds);
        let lags = self.times(TimeKind::Lag);
        let generators = self.sum.as_ref().map(|sum| &sum.generators[..]);
        GeneratorInfo {
            workers: u32::try_from(settings.workers).unwrap_or(u32::MAX),
            connections_asked: settings.connections,
            connections_open_min: self.connections_open_min.unwrap_or(0),
            cpu_us_per_request: share(counts.engine_cpu.as_secs_f64() * 1e6, as_f64(counts.sent)),
            utilization: of_time(counts.engine_cpu_busiest),
            utilization_wanted: of_time(counts.engine_cpu_wanted_busiest),
            run_queue_wait_mean_us: share(
                counts.engine_run_queue_wait.as_secs_f64() * 1e6,
                as_f64(counts.engine_time_slices),
            ),
            lag_p99_us: quantile(&lags, 0.99),
            lag: Some(lag(&lags)),
            offered_per_s: settings.offered_per_s,
            arrivals: settings.arrivals,
            capacity_per_s: None,
            in_flight_asked: settings.in_flight,
            in_flight_max: settings.in_flight_max,
            in_flight_mean: of_time(counts.in_flight_time),
            in_flight_unexplained: share(seconds(counts.in_flight_unexplained_ns), self.seconds),
            generators: generator_parts(generators.unwrap_or_default(), self.seconds),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "to the microsecond is enough, and 2^53 ns are a hundred days"
)]
fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn lag(histogram: &Histogram<u64>) -> LagInfo {
    let value = |wanted| quantile(histogram, wanted);
    LagInfo {
        p50_us: value(0.5),
        p90_us: value(0.9),
        p99_us: value(0.99),
        p999_us: value(0.999),
        max_us: value(1.0),
    }
}

#[cfg(test)]
mod tests {
    use waggle_load::{Counts, Failure, Failures, StepCounts};

    use super::Carried;

    #[test]
    fn records_are_counted_where_they_are_carried() {
        let counts = Counts {
            succeeded: 7,
            ..Counts::default()
        };
        let steps = [1, 2, 3].map(|succeeded| StepCounts {
            succeeded,
            failures: Failures(vec![
                (Failure::Reset, 100),
                (Failure::Status(500), 1_000),
                (Failure::CheckFailed, 10),
                (Failure::NotCaptured, 20),
                (Failure::BodyNotKept, 30),
            ]),
            ..StepCounts::default()
        });
        let check = |carried: &Carried, expected| {
            assert_eq!(
                carried.accepted_records(&counts, steps.iter()),
                expected,
                "{carried:?}"
            );
        };
        check(&Carried::ByEach(0), 0);
        check(&Carried::ByEach(5), 35);
        check(&Carried::BySteps(Vec::new()), 0);
        check(&Carried::BySteps(vec![1]), 62);
        check(&Carried::BySteps(vec![0, 2]), 61 + 63);
    }
}
