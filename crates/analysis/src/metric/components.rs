//! CPU of a component, all replicas together.

use waggle_metrics::NamedMetric;

use super::find_by_name;
use crate::{TrialNumbers, bottleneck::whole_components, distribution::as_f64};

/// Of all replicas of a component.
pub(super) fn cores(named: &NamedMetric<'_>, numbers: &TrialNumbers) -> Option<f64> {
    let all = whole_components(numbers);
    find_by_name(named, &all, |(name, _)| name).map(|(_, cores)| *cores)
}

/// `None` if nothing was answered.
pub(super) fn cpu_us_per_request(named: &NamedMetric<'_>, numbers: &TrialNumbers) -> Option<f64> {
    Some(cores(named, numbers)? * numbers.seconds * 1e6 / answered_requests(numbers)?)
}

pub(super) fn answered_requests(numbers: &TrialNumbers) -> Option<f64> {
    let answered = numbers.succeeded + numbers.failed;
    (answered > 0).then(|| as_f64(answered))
}
