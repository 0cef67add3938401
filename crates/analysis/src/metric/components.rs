//! CPU and memory of a component, all replicas together.

use waggle_metrics::{NamedMetric, Statistic};

use crate::{
    metric::{
        reading::{Reading, value},
        source::find_by_name,
    },
    recording::histogram::as_f64,
    trial::{bottleneck::whole_components, memory::Memory, trial_model::TrialNumbers},
};

/// Of a component, or of all of them.
pub(super) fn memory(named: &NamedMetric<'_>, memory: Memory) -> Option<Reading> {
    match named.statistic? {
        Statistic::Mean => value(memory.mean_bytes),
        Statistic::Max => value(memory.max_bytes),
        _ => None,
    }
}

/// Of all replicas of a component.
pub(super) fn cores(named: &NamedMetric<'_>, numbers: &TrialNumbers) -> Option<f64> {
    let all = whole_components(numbers);
    find_by_name(named, &all, |(name, _)| name).map(|(_, cores)| *cores)
}

/// `None` if nothing was answered.
pub(super) fn cpu_us_per_request(named: &NamedMetric<'_>, numbers: &TrialNumbers) -> Option<f64> {
    Some(cores(named, numbers)? * numbers.counts.seconds * 1e6 / answered_requests(numbers)?)
}

pub(super) fn answered_requests(numbers: &TrialNumbers) -> Option<f64> {
    let answered = numbers.counts.succeeded + numbers.counts.failed;
    (answered > 0).then(|| as_f64(answered))
}
