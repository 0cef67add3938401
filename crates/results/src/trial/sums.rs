//! Counts of several intervals, added up.

use super::{CountsRow, FailureCount, InspectedCounts, SessionCounts, StepCounts};
use crate::FailureKind;

/// Counts over several intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntervalSums {
    pub counts: CountsRow,
    /// A scenario's steps, in their order; empty without one, or without an interval.
    pub steps: Vec<StepCounts>,
    pub sessions: SessionCounts,
}

impl CountsRow {
    /// Adds the counts of the next stretch of time.
    pub fn follow(&mut self, next: &Self) {
        self.seconds += next.seconds;
        self.due += next.due;
        self.sent += next.sent;
        self.succeeded += next.succeeded;
        self.failed += next.failed;
        self.skipped += next.skipped;
        self.in_flight_change += next.in_flight_change;
        self.records_succeeded += next.records_succeeded;
        self.bytes_sent += next.bytes_sent;
        self.bytes_received += next.bytes_received;
        add_failures(&mut self.failures, &next.failures);
        add_failures(&mut self.other_failures, &next.other_failures);
        if let Some(next) = next.inspected {
            self.inspected.get_or_insert_default().follow(next);
        }
    }
}

impl InspectedCounts {
    fn follow(&mut self, next: Self) {
        self.answers += next.answers;
        self.body_bytes += next.body_bytes;
        self.decoded_bytes += next.decoded_bytes;
        if let Some(items) = next.items {
            *self.items.get_or_insert_default() += items;
        }
    }
}

impl StepCounts {
    /// Adds the counts of the next stretch of time.
    pub fn follow(&mut self, next: &Self) {
        self.sent += next.sent;
        self.succeeded += next.succeeded;
        self.failed += next.failed;
        add_failures(&mut self.failures, &next.failures);
    }
}

impl SessionCounts {
    pub(crate) fn follow(&mut self, next: Self) {
        self.started += next.started;
        self.completed += next.completed;
        self.failed += next.failed;
    }
}

/// Adds failures to the counts of their kinds.
pub fn add_failures(sum: &mut Vec<FailureCount>, failures: &[FailureCount]) {
    for failure in failures {
        note_failure(sum, failure.kind, failure.count);
    }
}

/// Adds to the count of a kind.
pub fn note_failure(failures: &mut Vec<FailureCount>, kind: FailureKind, count: u64) {
    match failures.iter_mut().find(|known| known.kind == kind) {
        Some(known) => known.count += count,
        None => failures.push(FailureCount { kind, count }),
    }
}
