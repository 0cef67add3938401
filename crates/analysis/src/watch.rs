//! Watches over the trials of a cell.

use waggle_metrics::{Metric, NamedMetric};
use waggle_stats::Estimate;

use crate::{
    TrialModel,
    metric::{self, Number},
};

/// One watch over the trials of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchModel {
    pub name: String,
    /// Of the trials' means.
    pub mean: Option<Estimate>,
    /// The largest in any trial.
    pub max: Option<f64>,
    /// What was read last, in the trial where it was largest.
    pub end: f64,
}

/// The watches over the trials that count, in their order.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Vec<WatchModel> {
    let numbers = trials.iter().filter_map(|trial| trial.numbers.as_ref());
    let mut names: Vec<&str> = Vec::new();
    for watch in numbers.flat_map(|numbers| &numbers.watches) {
        if !names.contains(&watch.name.as_str()) {
            names.push(&watch.name);
        }
    }
    let model = |name: &str| {
        let named = |metric| NamedMetric {
            of: Some(name),
            ..NamedMetric::of_all(metric)
        };
        let point = |metric| metric::over_trials(&named(metric), trials).map(Number::point);
        Some(WatchModel {
            name: name.to_owned(),
            mean: metric::estimate(&named(Metric::WatchMean), trials),
            max: point(Metric::WatchMax),
            end: point(Metric::WatchEnd)?,
        })
    };
    names.into_iter().filter_map(model).collect()
}
