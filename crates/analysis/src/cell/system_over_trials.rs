//! Metrics of the system over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_stats::Estimate;

use crate::{
    metric::{aggregate, number::Number},
    trial::trial_model::TrialModel,
};

/// One metric over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemMetricModel {
    pub name: String,
    /// Of the trials' means.
    pub mean: Option<Estimate>,
    /// The largest in any trial.
    pub max: Option<f64>,
    /// What was read last, in the trial where it was largest.
    pub end: f64,
}

/// The metrics over the trials that count, in their order.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Vec<SystemMetricModel> {
    let numbers = trials.iter().filter_map(|trial| trial.numbers.as_ref());
    let mut names: Vec<&str> = Vec::new();
    for metric in numbers.flat_map(|numbers| &numbers.metrics) {
        if !names.contains(&metric.name.as_str()) {
            names.push(&metric.name);
        }
    }
    let names = names.into_iter();
    names
        .filter_map(|name| system_metric(name, trials))
        .collect()
}

fn system_metric(name: &str, trials: &[&TrialModel]) -> Option<SystemMetricModel> {
    let named = |metric| NamedMetric {
        of: Some(name),
        ..NamedMetric::of_all(metric)
    };
    let point = |metric| aggregate::over_trials(&named(metric), trials).map(Number::point);
    Some(SystemMetricModel {
        name: name.to_owned(),
        mean: aggregate::estimate(&named(Metric::SystemMetricMean), trials),
        max: point(Metric::SystemMetricMax),
        end: point(Metric::SystemMetricEnd)?,
    })
}
