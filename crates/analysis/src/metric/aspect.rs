//! Which metric is of which kind, so that doubts find it.

use waggle_metrics::{LoadMetric, Metric};
use waggle_spec::LoadRole;
use waggle_stats::Aspect;

/// What a metric is about.
#[expect(clippy::too_many_lines, reason = "a line a metric")]
pub(crate) fn aspect(metric: Metric) -> Aspect {
    match metric {
        Metric::Goodput
        | Metric::GoodputDeviation
        | Metric::Throughput
        | Metric::ErrorRate
        | Metric::Succeeded
        | Metric::Failed
        | Metric::AchievedRatio
        | Metric::Skipped
        | Metric::BodyBytesPerAnswer
        | Metric::DecodedBytesPerAnswer
        | Metric::ItemsPerAnswer
        | Metric::BytesReceivedPerAnswer
        | Metric::BytesReceivedRate
        | Metric::BytesSentRate
        | Metric::BytesReceived
        | Metric::BytesSent
        | Metric::SessionsStarted
        | Metric::SessionsCompleted
        | Metric::SessionsFailed
        | Metric::SessionsGoodput
        | Metric::ClientsFinished
        | Metric::ClientsFailed
        | Metric::ClientsCompleted
        | Metric::ClientsSucceeded
        | Metric::ClientsThroughput => Aspect::Goodput,
        Metric::InFlight
        | Metric::Time(_)
        | Metric::TimeDeviation(_)
        | Metric::TimeWeightedResponseTime
        | Metric::ClientWaitTime => Aspect::Times,
        Metric::SideLoad(LoadRole::Background, metric) => match metric {
            LoadMetric::InFlight | LoadMetric::Time(_) => Aspect::Times,
            _ => Aspect::Goodput,
        },
        Metric::Backlog
        | Metric::Late
        | Metric::OutOfOrder
        | Metric::Delay
        | Metric::DelayDeviation
        | Metric::EndToEndDelay
        | Metric::ArrivalDelay
        | Metric::DrainTime => Aspect::Delivery,
        Metric::SystemCpuPerRequest
        | Metric::SystemRss
        | Metric::ComponentCpu
        | Metric::ComponentCpuPerRequest
        | Metric::ComponentRss
        | Metric::ComponentThrottled
        | Metric::ListenOverflows
        | Metric::ListenDrops
        | Metric::SynCookies
        | Metric::Retransmissions
        | Metric::Resets
        | Metric::SystemMetricMean
        | Metric::SystemMetricMax
        | Metric::SystemMetricEnd => Aspect::Cpu,
        Metric::RecordsSent
        | Metric::RecordsAccepted
        | Metric::RecordsRejected
        | Metric::RecordsUnknown
        | Metric::Delivered
        | Metric::Missing
        | Metric::LossRate
        | Metric::RejectedDelivered
        | Metric::UnknownDelivered
        | Metric::Duplicates
        | Metric::Unexpected => Aspect::Accounting,
        // What recovers is a system that did not keep up, or was not steady; what was asked for and how the instrument was are facts.
        Metric::RecoveryTime
        | Metric::SideLoad(LoadRole::Preparation, _)
        | Metric::TimeToReady
        | Metric::LongestStall
        | Metric::StalledRatio
        | Metric::LongestOutage
        | Metric::FailedWholeLoad
        | Metric::Offered
        | Metric::MeasuredTime
        | Metric::Resolution
        | Metric::NegativeDelays
        | Metric::ProbeCpu
        | Metric::GeneratorUtilization
        | Metric::GeneratorLagP99
        | Metric::GeneratorCpuPerRequest
        | Metric::GeneratorCapacity
        | Metric::GeneratorCapacityUsed
        | Metric::CpuSteal
        | Metric::CpuIdle
        | Metric::OtherCores => Aspect::Generator,
    }
}
