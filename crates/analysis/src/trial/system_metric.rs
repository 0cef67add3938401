//! Metrics of the system in one trial.

use waggle_results::SystemMetricRow;

use crate::recording::histogram::as_f64;

/// One metric in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSystemMetric {
    pub name: String,
    /// Over the measured phase; `None` where it was not read there.
    pub measured: Option<MetricSummary>,
    /// What was read last, after the drain where there is one.
    pub end: f64,
    /// From the reading before the load to the last one; `None`: there is none before the load, or it fell meanwhile, as a counter does
    /// that starts again.
    pub growth: Option<f64>,
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
    let mut metrics = Vec::new();
    for (name, rows) in all {
        let within = rows
            .iter()
            .filter(|row| (from_s..=to_s).contains(&row.at_s));
        metrics.extend(rows.last().map(|last| TrialSystemMetric {
            name: name.to_owned(),
            measured: metric_summary(within.map(|row| row.value)),
            end: last.value,
            growth: growth(&rows),
        }));
    }
    metrics
}

/// From the reading before the load, which is noted at its start, to the last one.
fn growth(rows: &[&SystemMetricRow]) -> Option<f64> {
    let first = rows.first().filter(|row| row.at_s <= 0.0)?;
    let has_grown = rows.is_sorted_by(|a, b| a.value <= b.value);
    has_grown.then(|| rows.last().map_or(0.0, |last| last.value - first.value))
}

/// `None` where nothing was read.
fn metric_summary(values: impl Iterator<Item = f64>) -> Option<MetricSummary> {
    let values: Vec<f64> = values.collect();
    Some(MetricSummary {
        max: values.iter().copied().reduce(f64::max)?,
        mean: values.iter().sum::<f64>() / as_f64(values.len() as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_grows_unless_it_starts_again() {
        let check = |start: u32, values: &[f64], expected: Option<f64>| {
            let row = |(place, value): (u32, &f64)| SystemMetricRow {
                at_s: f64::from(place),
                metric: "served".to_owned(),
                value: *value,
            };
            let rows: Vec<SystemMetricRow> = (start..).zip(values).map(row).collect();
            let metrics = of_trial(&rows, (0.0, 9.0));
            assert_eq!(metrics[0].growth, expected, "{values:?}");
        };
        check(0, &[7.0], Some(0.0));
        check(0, &[7.0, 7.0, 12.0], Some(5.0));
        check(0, &[7.0, 12.0, 3.0, 20.0], None);
        check(1, &[7.0, 12.0], None);
    }
}
