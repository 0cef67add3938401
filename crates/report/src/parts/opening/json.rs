//! What was asked before the run, and which differences the run could have shown, for other programs.

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{self as analysis, Between, Model};
use waggle_results::FixedPart;

use super::asked_before;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AskedBefore {
    /// `asked` or `found by looking`: that of the answer, and of what sections say about metrics in `asks` and in thresholds. All else was
    /// found by looking.
    origin: &'static str,
    /// SHA-256 of question, asks and thresholds when the run began, as `waggle plan` prints it; `null`: they were changed since then.
    sum: Option<String>,
    /// What was changed after the run began: `question`, `asks`, `thresholds`, `study file`.
    changed: Vec<&'static str>,
}

/// Which difference of a metric would be shown.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Power {
    metric: String,
    /// `cells`: two of them; `runs`: the only cell, and that of another run.
    between: &'static str,
    /// Trials of a cell, the fewest of all.
    trials: usize,
    /// Standard deviation of the logarithm of a trial.
    scatter: f64,
    degrees_of_freedom: f64,
    /// Trials are compared repetition by repetition.
    paired: bool,
    /// The smallest difference, as a share: 0.25 is a ratio of 1.25 or 0.8; `null`: none.
    smallest_difference: Option<f64>,
    /// So many trials would show this smaller difference; `null`: no number within reason.
    more: Option<MoreTrials>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MoreTrials {
    trials: usize,
    difference: f64,
}

pub(crate) fn asked_before(model: &Model) -> Option<AskedBefore> {
    let origin = model.asked_before.origin(true)?;
    let (sum, changed) = match &model.asked_before {
        analysis::AskedBefore::Same {
            digest,
            is_study_changed,
        } => {
            let changed = is_study_changed.then_some(FixedPart::StudyFile);
            (Some(digest.clone()), changed.into_iter().collect())
        }
        analysis::AskedBefore::Changed(parts) => (None, parts.clone()),
        analysis::AskedBefore::Unknown => (None, Vec::new()),
    };
    Some(AskedBefore {
        origin: asked_before::label(origin),
        sum,
        changed: changed.into_iter().map(asked_before::part).collect(),
    })
}

pub(crate) fn power(model: &Model) -> Vec<Power> {
    let Some(power) = analysis::power(model) else {
        return Vec::new();
    };
    let between = match power.between {
        Between::Cells => "cells",
        Between::Runs => "runs",
    };
    let metrics = power.metrics.into_iter();
    metrics
        .map(|metric| power_of_metric(between, metric))
        .collect()
}

fn power_of_metric(between: &'static str, metric: analysis::MetricPower) -> Power {
    let more = metric.more;
    Power {
        between,
        trials: metric.trials,
        scatter: metric.scatter.deviation,
        degrees_of_freedom: metric.scatter.degrees,
        paired: metric.is_paired(),
        smallest_difference: metric.smallest,
        more: more.map(|(trials, difference)| MoreTrials { trials, difference }),
        metric: metric.column,
    }
}
