//! The steps of a scenario: their times put together over the load, and what is told of them.

use hdrhistogram::Histogram;
use waggle_load::StepInterval;
use waggle_results::StepCounts;

use super::{
    gather::{as_f64, histogram},
    result::{share, times},
    summary::{SessionsResult, StepResult},
    watch::Watched,
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
}

/// Each step with its name, counts and times.
pub(crate) fn results(names: &[String], watched: &Watched) -> Vec<StepResult> {
    let seconds = watched.measured.counts().seconds;
    let counts = watched
        .all
        .steps()
        .into_iter()
        .zip(watched.measured.steps());
    let named = names.iter().zip(counts).zip(&watched.steps.0);
    let one = |((name, (counts, measured)), seen): ((&String, _), &StepTimes)| {
        let (counts, measured): (StepCounts, StepCounts) = (counts, measured);
        StepResult {
            name: name.clone(),
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            rate_per_s: share(as_f64(measured.succeeded), seconds),
            throughput_per_s: share(as_f64(measured.succeeded + measured.failed), seconds),
            error_share: share(
                as_f64(counts.failed),
                as_f64(counts.succeeded + counts.failed),
            ),
            failures: counts
                .failures
                .into_iter()
                .map(|failure| (failure.kind, failure.count))
                .collect(),
            response_time_us: times(&seen.response_time),
            service_time_us: times(&seen.service_time),
            failed_time_us: times(&seen.failed_time),
        }
    };
    named.map(one).collect()
}

/// The sessions as they are told.
pub(crate) fn sessions(watched: &Watched) -> SessionsResult {
    let (all, measured) = (watched.all.sessions(), watched.measured.sessions());
    SessionsResult {
        started: all.started,
        completed: all.completed,
        failed: all.failed,
        rate_per_s: share(
            as_f64(measured.completed),
            watched.measured.counts().seconds,
        ),
    }
}
