//! In which directions a metric may differ from what was measured, by the reasons of trials and of a cell.

use waggle_metrics::{LoadMetric, Metric};
use waggle_spec::{LoadRole, TimeKind};
use waggle_stats::{Aspect, Bias, CLEAN_TRIALS_MIN, Finding, Reason};

use crate::{recording::lag::is_late, trial::trial_model::TrialModel};

/// Whether a reason makes metrics of a kind doubtful.
pub(crate) fn has_doubt(aspect: Aspect, reasons: &[Reason]) -> bool {
    let mut doubts = reasons.iter().flat_map(|reason| reason.finding.doubts());
    doubts.any(|doubt| doubt.aspect == aspect)
}

pub(crate) fn has_lag(aspect: Aspect, reasons: &[Reason]) -> bool {
    aspect == Aspect::Times && is_late(reasons)
}

/// In which directions the system's own value may differ from what a load with these reasons shows, without an interval.
pub(crate) fn biases(aspect: Aspect, reasons: &[Reason]) -> Vec<Bias> {
    let doubts = reasons.iter().flat_map(|reason| reason.finding.doubts());
    let aspect_doubts = doubts.filter(|doubt| doubt.aspect == aspect);
    distinct(aspect_doubts.map(|doubt| doubt.bias))
}

/// The same of one of so many trials. A change of level is in the interval over several of them. The lag is, too, where it was noted.
pub(crate) fn trial_biases(aspect: Aspect, trial: &TrialModel, trials: usize) -> Vec<Bias> {
    let is_lag_noted = trial
        .numbers
        .as_ref()
        .is_some_and(|numbers| numbers.response_without_lag.is_some());
    let reasons = trial.reasons.iter();
    let doubts = reasons.flat_map(|reason| {
        let is_change = trials > 1 && matches!(reason.finding, Finding::System(_));
        let doubts = reason.finding.doubts().into_iter();
        doubts.filter(move |doubt| !(is_change && matches!(doubt.bias, Bias::Factor(_))))
    });
    let aspect_doubts = doubts.filter(|doubt| doubt.aspect == aspect);
    distinct(aspect_doubts.map(|doubt| match doubt.bias {
        Bias::ByLag if !is_lag_noted => Bias::AtMost,
        bias => bias,
    }))
}

/// The biases of one metric: the lag is in the range of response times, and only bounds others.
pub(crate) fn resolve_biases(metric: Metric, biases: impl IntoIterator<Item = Bias>) -> Vec<Bias> {
    let resolved = biases.into_iter().filter_map(|bias| match bias {
        Bias::ByLag if metric == Metric::Time(TimeKind::Response) => None,
        Bias::ByLag => Some(Bias::AtMost),
        bias if is_of_failures(metric) => failure_bias(bias),
        bias => Some(bias),
    });
    distinct(resolved)
}

/// What failed is a fact of the load that was sent: more load says nothing against it, and whatever else is doubtful, so much did
/// fail at least.
pub(crate) fn failure_bias(bias: Bias) -> Option<Bias> {
    match bias {
        Bias::AtLeast => None,
        Bias::Unknown => Some(Bias::AtLeast),
        bias => Some(bias),
    }
}

/// The directions of several trials together, each once. [`CLEAN_TRIALS_MIN`] trials without a doubt leave none.
pub(crate) fn shared_biases(trials: &[Vec<Bias>]) -> Vec<Bias> {
    if trials.iter().filter(|biases| biases.is_empty()).count() >= CLEAN_TRIALS_MIN {
        return Vec::new();
    }
    distinct(trials.concat())
}

/// Each direction once, with the largest factor.
pub(crate) fn distinct(biases: impl IntoIterator<Item = Bias>) -> Vec<Bias> {
    let mut distinct: Vec<Bias> = Vec::new();
    for bias in biases {
        let known = distinct
            .iter_mut()
            .find(|known| std::mem::discriminant(*known) == std::mem::discriminant(&bias));
        match (known, bias) {
            (Some(Bias::Factor(known)), Bias::Factor(factor)) => *known = known.max(factor),
            (Some(_), _) => {}
            (None, bias) => distinct.push(bias),
        }
    }
    distinct
}

/// Whether a metric counts what failed.
pub(crate) fn is_of_failures(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Failed
            | Metric::ErrorRate
            | Metric::Skipped
            | Metric::SessionsFailed
            | Metric::ClientsFailed
            | Metric::SideLoad(
                LoadRole::Background,
                LoadMetric::Failed | LoadMetric::ErrorRate
            )
    )
}
