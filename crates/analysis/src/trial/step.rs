//! The steps of a scenario in one trial.

use waggle_results::{PhaseName, StepCounts, Trial, merge_range};
use waggle_spec::{StepTimes, TimeKind, Times};

use crate::recording::{
    histogram::{self, TrialPercentiles, as_f64},
    lag::percentiles_without_lag,
};

/// One step over the measured phase of one trial. Its times have the answers after the phase too.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialStep {
    pub name: String,
    /// Succeeded requests per second.
    pub goodput_per_s: f64,
    /// Answered requests per second, failures included.
    pub throughput_per_s: f64,
    pub counts: StepCounts,
    /// By kind; none without a sample.
    pub times: StepTimes<Option<TrialPercentiles>>,
    /// The lowest that response times may be without the lag of the load generator; `None`: the lag was not noted.
    pub response_without_lag: Option<TrialPercentiles>,
}

/// The steps of one trial; none where it was no scenario.
pub(crate) fn of_trial(trial: &Trial) -> Vec<TrialStep> {
    if trial.info.phase(PhaseName::Measure).is_none() {
        return Vec::new();
    }
    let (from_s, to_s) = trial.info.answers_within();
    let seconds = trial.info.measured.seconds;
    let per_s = |count: u64| as_f64(count) / seconds;
    let generator = trial.info.generator.as_ref();
    let lag = generator.and_then(|generator| generator.lag.as_ref());
    let mut steps = Vec::new();
    for (step, logs) in trial.info.steps.iter().zip(&trial.steps) {
        let times = merge_range(logs, (from_s, to_s));
        let counts = &step.measured;
        steps.push(TrialStep {
            name: step.name.clone(),
            goodput_per_s: per_s(counts.succeeded),
            throughput_per_s: per_s(counts.succeeded + counts.failed),
            counts: counts.clone(),
            times: Times::from_fn(|kind| histogram::of_trial(&times[kind])),
            response_without_lag: lag
                .and_then(|lag| percentiles_without_lag(&times[TimeKind::Response], lag)),
        });
    }
    steps
}
