//! Results of other tools: which metrics they do not show.

use waggle_metrics::Metric;
use waggle_results::{ImportedTrialInfo, UnknownFact};

/// The metrics whose values in the results have no meaning. Those that are absent there, such as CPU of the system, are left out.
pub(crate) fn unknown_metrics(imported: &ImportedTrialInfo) -> Vec<Metric> {
    let metrics = imported.unknown.iter().flat_map(|fact| metrics(*fact));
    metrics.copied().collect()
}

fn metrics(fact: UnknownFact) -> &'static [Metric] {
    match fact {
        UnknownFact::DueTimes => &[
            Metric::Offered,
            Metric::AchievedRatio,
            Metric::Skipped,
            Metric::ClientWaitTime,
        ],
        UnknownFact::Generator => &[
            Metric::GeneratorUtilization,
            Metric::GeneratorLagP99,
            Metric::GeneratorCpuPerRequest,
            Metric::GeneratorCapacity,
            Metric::GeneratorCapacityUsed,
        ],
        UnknownFact::SingleRequests => &[Metric::InFlight],
        UnknownFact::BytesSent => &[Metric::BytesSent, Metric::BytesSentRate],
        UnknownFact::BytesReceived => &[
            Metric::BytesReceived,
            Metric::BytesReceivedRate,
            Metric::BytesReceivedPerAnswer,
        ],
        UnknownFact::Machine
        | UnknownFact::SystemResources
        | UnknownFact::Delivery
        | UnknownFact::WarmUp
        | UnknownFact::FailedRequests
        | UnknownFact::StartTime => &[],
    }
}
