//! Percentiles of the trials of a cell together, and what delivery delays rest on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_analysis::{DelaySource, KnownBy, Pooled, TrialPercentiles};
use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_spec::TimeKind;

const STATISTICS: [Statistic; 6] = [
    Statistic::P50,
    Statistic::P90,
    Statistic::P99,
    Statistic::P999,
    Statistic::Max,
    Statistic::Mean,
];

/// The records behind the percentiles of the delivery delay.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeliveryDelay {
    /// `instants`: the store's own; `reads`: when the probe saw a record; `windows`: the same of a sample that was followed in windows.
    known_by: &'static str,
    /// Of the measured phases.
    records: u64,
    of_records: u64,
    /// `null`: no sample, or not known.
    windows: Option<u64>,
}

impl DeliveryDelay {
    pub(crate) fn new(source: DelaySource) -> Self {
        let (known_by, windows) = match source.by {
            KnownBy::Instants => ("instants", None),
            KnownBy::Reads => ("reads", None),
            KnownBy::Windows(windows) => ("windows", windows),
        };
        Self {
            known_by,
            records: source.known,
            of_records: source.of,
            windows,
        }
    }
}

/// By the columns of `tables.csv`.
pub(crate) fn pooled_percentiles(pooled: &Pooled) -> BTreeMap<String, f64> {
    let response = percentiles(Metric::Time(TimeKind::Response), pooled.response.as_ref());
    let delay = percentiles(Metric::Delay, pooled.delay.as_ref());
    response.into_iter().chain(delay).collect()
}

fn percentiles(metric: Metric, all: Option<&TrialPercentiles>) -> Vec<(String, f64)> {
    let mut percentiles = Vec::new();
    for statistic in STATISTICS {
        let named = NamedMetric {
            statistic: Some(statistic),
            ..NamedMetric::of_all(metric)
        };
        let us = all.and_then(|all| all.statistic(statistic));
        percentiles.extend(us.map(|us| (named.column(), named.row.in_column(us))));
    }
    percentiles
}
