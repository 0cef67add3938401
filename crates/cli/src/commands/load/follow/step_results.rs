//! Results of the steps and sessions of a scenario.

use hdrhistogram::Histogram;
use waggle_analysis::EndedLoad;
use waggle_results::merge_range;
use waggle_spec::TimeKind;

use super::outcome::{by_kind, times};
use crate::{
    commands::load::result::summary::{SessionsResult, StepResult},
    trial::{aggregate::as_f64, so_far::ratio as share},
};

/// The results of each step.
pub(crate) fn results(load: &EndedLoad) -> Vec<StepResult> {
    let within = load.trial.info.answers_within();
    let counted = load.numbers().steps.iter().zip(&load.sums.steps);
    let mut results = Vec::new();
    for ((step, counts), logs) in counted.zip(&load.trial.steps) {
        let step_times = merge_range(logs, within);
        results.push(StepResult {
            name: step.name.clone(),
            sent: counts.sent,
            succeeded: counts.succeeded,
            failed: counts.failed,
            goodput_per_s: step.goodput_per_s,
            throughput_per_s: step.throughput_per_s,
            error_rate: share(
                as_f64(counts.failed),
                as_f64(counts.succeeded + counts.failed),
            ),
            failures: by_kind(&counts.failures, |_| true),
            response_time_us: times(&step_times[TimeKind::Response]),
            service_time_us: times(&step_times[TimeKind::Service]),
            failed_time_us: times(&step_times[TimeKind::Failed]),
        });
    }
    results
}

/// The results of the sessions.
pub(crate) fn sessions(load: &EndedLoad, durations: &Histogram<u64>) -> SessionsResult {
    let all = load.sums.sessions;
    SessionsResult {
        started: all.started,
        completed: all.completed,
        failed: all.failed,
        failures: by_kind(&load.sums.counts.other_failures, |kind| {
            kind.is_of_session()
        }),
        goodput_per_s: load.numbers().sessions_per_s.unwrap_or_default(),
        duration_us: times(durations),
    }
}
