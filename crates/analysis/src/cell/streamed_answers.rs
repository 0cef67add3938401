//! What was measured of the answers of a cell while they streamed.

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_spec::TimeKind;
use waggle_stats::Estimate;

use crate::{metric::aggregate, trial::trial_model::TrialModel};

/// Answers of a cell over its trials.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswersModel {
    /// Median of the time from sent to the first byte, in µs.
    pub first_byte_p50: Option<Estimate>,
    /// Of the body as it was received.
    pub body_bytes: Option<Estimate>,
    /// After decompression.
    pub decoded_bytes: Option<Estimate>,
    /// Elements of the counted array; `None`: none is counted.
    pub items: Option<Estimate>,
}

/// The answers of a cell; `None` if none was inspected.
pub(crate) fn of_cell(trials: &[&TrialModel]) -> Option<AnswersModel> {
    let numbers = trials.iter().filter_map(|trial| trial.numbers.as_ref());
    let mut inspected = numbers.filter_map(|numbers| numbers.counts.inspected);
    inspected.next()?;
    let estimate = |metric| aggregate::estimate(&NamedMetric::of_all(metric), trials);
    let first_byte_p50 = NamedMetric {
        statistic: Some(Statistic::P50),
        ..NamedMetric::of_all(Metric::Time(TimeKind::FirstByte))
    };
    Some(AnswersModel {
        first_byte_p50: aggregate::estimate(&first_byte_p50, trials),
        body_bytes: estimate(Metric::BodyBytesPerAnswer),
        decoded_bytes: estimate(Metric::DecodedBytesPerAnswer),
        items: estimate(Metric::ItemsPerAnswer),
    })
}
