//! The steps of a scenario: their times put together over the load, and what is told of them.

use hdrhistogram::Histogram;
use waggle_load::StepInterval;
use waggle_results::{SessionCounts, StepCounts};

use super::{
    gather::histogram,
    result::times,
    summary::{SessionsResult, StepResult},
};

/// Times of all steps, in their order; empty without a scenario.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<StepTimes>);

#[derive(Debug)]
struct StepTimes {
    response_time: Histogram<u64>,
    service_time: Histogram<u64>,
    failed_time: Histogram<u64>,
}

impl StepTimes {
    fn new() -> Self {
        Self {
            response_time: histogram(),
            service_time: histogram(),
            failed_time: histogram(),
        }
    }
}

impl Steps {
    /// What the steps did in one more interval.
    pub(crate) fn add(&mut self, steps: &[StepInterval]) {
        self.0.resize_with(steps.len(), StepTimes::new);
        for (sum, part) in self.0.iter_mut().zip(steps) {
            for (sum, part) in [
                (&mut sum.response_time, &part.response_time),
                (&mut sum.service_time, &part.service_time),
                (&mut sum.failed_time, &part.failed_time),
            ] {
                sum.add(part).expect("all histograms have the same bounds");
            }
        }
    }

    /// With their names and counts.
    pub(crate) fn results(&self, names: &[String], counts: Vec<StepCounts>) -> Vec<StepResult> {
        let named = names.iter().zip(counts).zip(&self.0);
        let one = |((name, counts), seen): ((&String, StepCounts), &StepTimes)| StepResult {
            name: name.clone(),
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            failures: counts
                .failures
                .into_iter()
                .map(|failure| (failure.kind, failure.count))
                .collect(),
            response_time_us: times(&seen.response_time),
            service_time_us: times(&seen.service_time),
            failed_time_us: times(&seen.failed_time),
        };
        named.map(one).collect()
    }
}

/// The sessions as they are told.
pub(crate) fn sessions(counts: SessionCounts) -> SessionsResult {
    SessionsResult {
        started: counts.started,
        completed: counts.completed,
        failed: counts.failed,
    }
}
