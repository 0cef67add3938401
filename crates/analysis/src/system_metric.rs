//! Metrics of the system in one trial.

use waggle_results::SystemMetricRow;

use crate::distribution::as_f64;

/// One metric in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSystemMetric {
    pub name: String,
    /// Over the measured phase; `None` where it was not read there.
    pub measured: Option<MetricSummary>,
    /// What was read last, after the drain where there is one.
    pub end: f64,
}

/// A metric over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricSummary {
    pub mean: f64,
    pub max: f64,
}

/// Every metric of a trial whose measured phase is given, in the order in which they were first read.
pub(crate) fn of_trial(
    rows: &[SystemMetricRow],
    (from_s, to_s): (f64, f64),
) -> Vec<TrialSystemMetric> {
    let mut all: Vec<(&str, Vec<&SystemMetricRow>)> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|(name, _)| *name == row.metric) {
            Some((_, rows)) => rows.push(row),
            None => all.push((&row.metric, vec![row])),
        }
    }
    let of_one = |(name, rows): (&str, Vec<&SystemMetricRow>)| {
        let within = rows
            .iter()
            .filter(|row| (from_s..=to_s).contains(&row.at_s));
        Some(TrialSystemMetric {
            name: name.to_owned(),
            measured: metric_summary(within.map(|row| row.value)),
            end: rows.last()?.value,
        })
    };
    all.into_iter().filter_map(of_one).collect()
}

/// `None` where nothing was read.
fn metric_summary(values: impl Iterator<Item = f64>) -> Option<MetricSummary> {
    let values: Vec<f64> = values.collect();
    Some(MetricSummary {
        max: values.iter().copied().reduce(f64::max)?,
        mean: values.iter().sum::<f64>() / as_f64(values.len() as u64),
    })
}
