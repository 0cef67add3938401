//! A row of the catalogue.

use waggle_spec::LoadRole;

use crate::Metric;

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub metric: Metric,
    pub subject: Subject,
    /// Name in paths: the last part, or the last but one if the metric has statistics.
    pub name: &'static str,
    /// Empty: the metric is one value.
    pub statistics: &'static [Statistic],
    pub unit: Unit,
    /// Title in charts and tables.
    pub heading: &'static str,
    pub wish: Wish,
    pub over_trials: OverTrials,
    /// Column in `tables.csv`, with the unit at the end; with statistics, the prefix of their columns.
    pub column: &'static str,
}

impl Row {
    /// Converts a value to the unit of its column: times are in s or ms if the name of the column ends in `_s` or `_ms`,
    /// otherwise in µs.
    #[must_use]
    pub fn in_column(&self, value: f64) -> f64 {
        match self.unit {
            Unit::Time if self.column.ends_with("_ms") => value / 1e3,
            Unit::Time if self.column.ends_with("_s") => value / 1e6,
            _ => value,
        }
    }

    /// All values of the metric: each of its statistics, or `None` for the only value.
    pub fn all_statistics(&self) -> impl Iterator<Item = Option<Statistic>> + use<> {
        let value = self.statistics.is_empty().then_some(None);
        value
            .into_iter()
            .chain(self.statistics.iter().copied().map(Some))
    }
}

/// The subject of a metric, which decides the prefix of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// `REQUEST.name`, `SCENARIO.name`, and `STEP.name` for each step of a scenario.
    Load,
    /// `REQUEST.name` or `SCENARIO.name`: of the whole load; steps do not have it.
    WholeLoad,
    /// `REQUEST.name`, of a request whose answers are inspected.
    Answers,
    /// `sessions.name`
    Sessions,
    /// `clients.name`, of a load of clients.
    Clients,
    /// `delivery.name`, one value for all probes.
    Delivery,
    /// `delivery.PROBE.name`; without the name of a probe, of the one at which records must arrive.
    Probe,
    /// `generator.name`
    Generator,
    /// `machine.name`, of the CPUs that waggle may use.
    Machine,
    /// `network.name`, of trials with a network of their own.
    Network,
    /// `system.name`, of all its components together.
    System,
    /// The name alone.
    Recovery,
    /// `faults.name`, of the injected faults.
    Fault,
    /// `prepare.LOAD.name` or `background.LOAD.name`, of a load that is not the measured one.
    SideLoad(LoadRole),
    /// `components.COMPONENT.name`
    Component,
    /// `metrics.METRIC.name`, of a metric that the system itself exposes.
    SystemMetric,
}

/// The unit of a metric, and how its values are written in conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds; written as `50ms`.
    Time,
    /// Per second; written as `1000/s`.
    Rate,
    /// 0 to 1; written as `1%` or `0.01`.
    Share,
    Count,
    /// CPUs, which may be more than one; written as `50%` or `0.5`.
    Cpus,
    /// Written as `512B` or `4KiB`.
    Bytes,
    /// Bytes per second; written as `10MiB/s`.
    ByteRate,
}

/// Whether higher or lower values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    More,
    Less,
    Neither,
}

/// How the trials of a cell are combined to one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTrials {
    /// The mean with its interval, one observation per trial.
    Mean,
    /// The mean; no value if a trial has none, because the mean of the others would be biased to fast trials.
    MeanOfAll,
    Sum,
    Max,
    /// The maximum; no value if a trial has none.
    MaxOfAll,
    Min,
    /// A ratio of sums.
    ShareOfSums,
    /// The standard deviation between trials; a single trial has none.
    StandardDeviation,
}

/// A statistic of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    P50,
    P90,
    P95,
    P99,
    P999,
    P9999,
    Max,
    Mean,
}

/// Every statistic, in the order in which they are listed.
pub const STATISTICS: &[Statistic] = &[
    Statistic::P50,
    Statistic::P90,
    Statistic::P95,
    Statistic::P99,
    Statistic::P999,
    Statistic::P9999,
    Statistic::Max,
    Statistic::Mean,
];

impl Statistic {
    /// Name in paths and columns.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99_9",
            Self::P9999 => "p99_99",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }
}
