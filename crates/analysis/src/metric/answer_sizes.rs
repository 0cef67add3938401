//! Bytes and items of answers in one trial, as means per answer.

use waggle_metrics::Metric;
use waggle_results::InspectedCounts;

use crate::{
    metric::reading::{Reading, value},
    recording::histogram::as_f64,
    trial::trial_model::TrialNumbers,
};

/// The metric, if it is one of inspected answers and there are any.
pub(super) fn reading(metric: Metric, inspected: InspectedCounts) -> Option<Reading> {
    let sum = match metric {
        Metric::BodyBytesPerAnswer => inspected.body_bytes,
        Metric::DecodedBytesPerAnswer => inspected.decoded_bytes,
        Metric::ItemsPerAnswer => inspected.items?,
        _ => return None,
    };
    let has_any = inspected.answers > 0;
    let mean = has_any.then(|| as_f64(sum) / as_f64(inspected.answers));
    mean.and_then(value)
}

/// Of all answers, with their heads; `None` if nothing was answered.
pub(super) fn bytes_received(numbers: &TrialNumbers) -> Option<f64> {
    let is_known = numbers.throughput_per_s > 0.0;
    is_known.then(|| numbers.bytes_received_per_s / numbers.throughput_per_s)
}
