//! The sums of the load of a cell's phase. Pure: intervals in, sums out.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use waggle_load::{Interval, SessionCounts, StepCounts};
use waggle_results::{CountsRow, FailureKind};
use waggle_spec::TimeKind;

use super::{buckets::Buckets, cells::OTHER};

/// Kinds of errors of a cell's phase with series of their own; all others are counted as one.
pub(super) const ERROR_TYPES_MAX: usize = 20;

/// The sums of all intervals of a cell's phase.
#[derive(Debug, Default)]
pub(super) struct LoadTotals {
    pub(super) counts: CountsRow,
    pub(super) connects: u64,
    /// Of a scenario.
    pub(super) sessions: SessionCounts,
    pub(super) errors: BTreeMap<String, u64>,
    /// As [`super::cells::CellLabels::requests`].
    pub(super) requests: Vec<RequestTotals>,
}

/// The sums of one request: of a step of a scenario, or the only one.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestTotals {
    pub(super) duration: Buckets,
    pub(super) response_time: Buckets,
    /// Of a scenario.
    pub(super) counts: StepCounts,
}

impl LoadTotals {
    /// Adds an interval, with its requests to this many series: by step, the last one of all further steps.
    pub(super) fn add(&mut self, interval: &Interval, row: &CountsRow, series: usize) {
        self.connects += interval.counts.connects;
        self.sessions.join(&interval.counts.sessions);
        self.add_counts(row);
        self.add_requests(interval, series);
    }

    fn add_counts(&mut self, row: &CountsRow) {
        let sum = &mut self.counts;
        sum.due += row.due;
        sum.sent += row.sent;
        sum.succeeded += row.succeeded;
        sum.failed += row.failed;
        sum.skipped += row.skipped;
        sum.records_succeeded += row.records_succeeded;
        sum.bytes_sent += row.bytes_sent;
        sum.bytes_received += row.bytes_received;
        for failure in row.failures.iter().chain(&row.other_failures) {
            let kind = error_type(failure.kind);
            let has_room = self.errors.len() < ERROR_TYPES_MAX;
            let kind = match has_room || self.errors.contains_key(&kind) {
                true => kind,
                false => OTHER.to_owned(),
            };
            *self.errors.entry(kind).or_default() += failure.count;
        }
    }

    fn add_requests(&mut self, interval: &Interval, series: usize) {
        let last = series.saturating_sub(1);
        self.requests
            .resize(series.max(self.requests.len()), RequestTotals::default());
        if interval.steps.is_empty() {
            self.requests[0].add_times(
                &interval.times[TimeKind::Service],
                &interval.times[TimeKind::Response],
            );
        }
        for (index, step) in interval.steps.iter().enumerate() {
            let sum = &mut self.requests[index.min(last)];
            sum.add_times(
                &step.times[TimeKind::Service],
                &step.times[TimeKind::Response],
            );
            sum.counts.join(&step.counts);
        }
    }
}

impl RequestTotals {
    fn add_times(&mut self, duration: &Histogram<u64>, response_time: &Histogram<u64>) {
        self.duration.add(duration);
        self.response_time.add(response_time);
    }
}

/// The number of a status, else the word of the results.
fn error_type(kind: FailureKind) -> String {
    match kind {
        FailureKind::Status(status) => status.to_string(),
        other => other.to_string(),
    }
}
