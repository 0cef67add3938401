//! The times of a scenario's steps over a trial.

use hdrhistogram::Histogram;
use waggle_load::StepInterval;

use super::aggregate::histogram;

/// Times of all steps, in their order; empty without a scenario.
#[derive(Debug, Default)]
pub(crate) struct Steps(pub(crate) Vec<StepTimes>);

/// Times of one step.
#[derive(Debug)]
pub(crate) struct StepTimes {
    pub(crate) response_time: Histogram<u64>,
    pub(crate) service_time: Histogram<u64>,
    pub(crate) failed_time: Histogram<u64>,
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
    /// Adds the steps of an interval.
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
}
