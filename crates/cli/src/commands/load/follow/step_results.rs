//! Results of the steps and sessions of a scenario.

use waggle_spec::TimeKind;

use super::outcome::{by_kind, times};
use crate::{
    commands::load::result::summary::{SessionsResult, StepResult},
    trial::{
        aggregate::as_f64,
        so_far::{SoFar, ratio as share},
    },
};

/// The results of each step.
pub(crate) fn results(so_far: &SoFar) -> Vec<StepResult> {
    let seconds = so_far.measured.counts().seconds;
    let counts = so_far.all.steps().into_iter().zip(so_far.measured.steps());
    let seen = so_far.all.sum().into_iter().flat_map(|all| &all.steps);
    let names = so_far.shape.steps.iter();
    let mut results = Vec::new();
    for ((name, (counts, measured)), seen) in names.zip(counts).zip(seen) {
        results.push(StepResult {
            name: name.clone(),
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            goodput_per_s: share(as_f64(measured.succeeded), seconds),
            throughput_per_s: share(as_f64(measured.succeeded + measured.failed), seconds),
            error_rate: share(
                as_f64(counts.failed),
                as_f64(counts.succeeded + counts.failed),
            ),
            failures: by_kind(&counts.failures, |_| true),
            response_time_us: times(&seen.times[TimeKind::Response]),
            service_time_us: times(&seen.times[TimeKind::Service]),
            failed_time_us: times(&seen.times[TimeKind::Failed]),
        });
    }
    results
}

/// The results of the sessions.
pub(crate) fn sessions(so_far: &SoFar) -> SessionsResult {
    let (all, measured) = (so_far.all.sessions(), so_far.measured.sessions());
    SessionsResult {
        started: all.started,
        completed: all.completed,
        failed: all.failed,
        failures: by_kind(&so_far.all.counts().other_failures, |kind| {
            kind.is_of_session()
        }),
        goodput_per_s: share(as_f64(measured.completed), so_far.measured.counts().seconds),
        duration_us: times(&so_far.all.times(TimeKind::Session)),
    }
}
