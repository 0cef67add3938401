//! What a row of the catalogue says.

use crate::Metric;

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub metric: Metric,
    pub subject: Subject,
    /// The last part of the path by which studies name it, or the last but one where it has statistics.
    pub name: &'static str,
    /// None: the metric is one number.
    pub statistics: &'static [Statistic],
    pub unit: Unit,
    /// As a chart or a table calls it.
    pub heading: &'static str,
    pub wish: Wish,
    pub over_trials: OverTrials,
    /// In `tables.csv`, with its unit at the end; where it has statistics, what comes before theirs.
    pub column: &'static str,
}

impl Row {
    /// A value as it stands in its column: times of columns whose names end in `_s` or `_ms` are in those, others in µs.
    #[must_use]
    pub fn in_column(&self, value: f64) -> f64 {
        match self.unit {
            Unit::Time if self.column.ends_with("_ms") => value / 1e3,
            Unit::Time if self.column.ends_with("_s") => value / 1e6,
            _ => value,
        }
    }

    /// All that it has: each of its statistics, or the one number.
    pub fn all_statistics(&self) -> impl Iterator<Item = Option<Statistic>> + use<> {
        let one = self.statistics.is_empty().then_some(None);
        one.into_iter()
            .chain(self.statistics.iter().copied().map(Some))
    }
}

/// What a number is a number of, and thereby what stands before its name in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// `REQUEST.name`, `SCENARIO.name`, and `STEP.name` for each step of a scenario.
    Load,
    /// `REQUEST.name` or `SCENARIO.name`, of all that is sent; a step has no such number.
    WholeLoad,
    /// `sessions.name`
    Sessions,
    /// `delivery.name`, one value for all probes.
    Delivery,
    /// `delivery.PROBE.name`; without the probe's name, of the one where records must arrive.
    Probe,
    /// `generator.name`
    Generator,
    /// `machine.name`, of the CPUs that waggle may use.
    Machine,
    /// `system.name`, of all its components together.
    System,
    /// The name alone.
    Recovery,
    /// `faults.name`, of what was killed on purpose.
    Fault,
    /// `components.COMPONENT.name`
    Component,
    /// `metrics.METRIC.name`, of a metric that the system itself exposes.
    SystemMetric,
}

/// What a number is counted in, and how its values are written in conditions.
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

/// Whether more of a number is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    More,
    Less,
    Neither,
}

/// How the trials of a cell make one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTrials {
    /// The mean with its interval, one observation a trial.
    Mean,
    /// The same; no number where a trial has none, for the mean of the others would be of the quick ones.
    MeanOfAll,
    Sum,
    Max,
    /// The same; no number where a trial has none.
    MaxOfAll,
    Min,
    /// A share of sums.
    ShareOfSums,
    /// How far the trials lie from their mean. A trial alone has no such number.
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
    /// As paths and columns name it.
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
