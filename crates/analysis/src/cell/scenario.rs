//! The steps and sessions of a scenario over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::{FailureKind, SessionCounts, Trial};
use waggle_spec::TimeKind;
use waggle_stats::Estimate;

use crate::{
    cell::distribution::{self, Distribution},
    metric::{aggregate, number::Number},
    recording::histogram::{self, SpectrumPoint},
    trial::{step::TrialStep, trial_model::TrialModel},
};

/// One step over the counted trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct StepModel {
    pub name: String,
    pub goodput: Option<Estimate>,
    pub throughput: Option<Estimate>,
    pub response: Distribution,
    pub service: Distribution,
    pub succeeded: u64,
    pub failed: u64,
    /// Failures by kind, the most frequent first.
    pub failures: Vec<(FailureKind, u64)>,
    /// Failed ÷ answered.
    pub error_rate: Option<f64>,
    /// Of the histograms of all counted trials together.
    pub spectrum: Vec<SpectrumPoint>,
}

/// Sessions over the counted trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionsModel {
    /// Completed per second.
    pub goodput: Option<Estimate>,
    /// From due to the end of the flow, of completed ones; empty if none did.
    pub duration: Distribution,
    /// Sums over trials.
    pub counts: SessionCounts,
}

/// Every step that a counted trial has, in their order.
pub(crate) fn over_trials(trials: &[&TrialModel], raw: &[&Trial]) -> Vec<StepModel> {
    let mut names: Vec<&str> = Vec::new();
    for step in trials.iter().flat_map(|trial| steps(trial)) {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    let model = |name| step_model(name, trials, raw);
    names.into_iter().map(model).collect()
}

fn steps(trial: &TrialModel) -> &[TrialStep] {
    let numbers = trial.numbers.as_ref();
    numbers.map_or(&[], |numbers| &numbers.steps)
}

fn step_model(name: &str, trials: &[&TrialModel], raw: &[&Trial]) -> StepModel {
    let named = |metric| NamedMetric {
        of: Some(name),
        ..NamedMetric::of_all(metric)
    };
    let all = trials.iter().flat_map(|trial| steps(trial));
    let trial_steps: Vec<&TrialStep> = all.filter(|step| step.name == name).collect();
    let logs = raw.iter().filter_map(|trial| {
        let place = trial.info.steps.iter().position(|step| step.name == name)?;
        Some((*trial, &trial.steps.get(place)?[TimeKind::Response]))
    });
    StepModel {
        name: name.to_owned(),
        goodput: aggregate::estimate(&named(Metric::Goodput), trials),
        throughput: aggregate::estimate(&named(Metric::Throughput), trials),
        response: distribution::over_trials(&named(Metric::Time(TimeKind::Response)), trials),
        service: distribution::over_trials(&named(Metric::Time(TimeKind::Service)), trials),
        succeeded: trial_steps.iter().map(|step| step.counts.succeeded).sum(),
        failed: trial_steps.iter().map(|step| step.counts.failed).sum(),
        failures: histogram::by_kind(trial_steps.iter().flat_map(|step| &step.counts.failures)),
        error_rate: aggregate::over_trials(&named(Metric::ErrorRate), trials).map(Number::point),
        spectrum: histogram::spectrum_of(logs),
    }
}

/// The sessions of a cell; `None` without a scenario.
pub(crate) fn sessions(trials: &[&TrialModel]) -> Option<SessionsModel> {
    let counts = trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref()?.sessions);
    Some(SessionsModel {
        goodput: aggregate::estimate(&NamedMetric::of_all(Metric::SessionsGoodput), trials),
        duration: distribution::over_trials(
            &NamedMetric::of_all(Metric::Time(TimeKind::Session)),
            trials,
        ),
        counts: counts.reduce(|sum, trial_counts| SessionCounts {
            started: sum.started + trial_counts.started,
            completed: sum.completed + trial_counts.completed,
            failed: sum.failed + trial_counts.failed,
        })?,
    })
}
