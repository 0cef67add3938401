//! Which metric a path of a study or of a load names.

use waggle_metrics::{Metric, NamedMetric, Subject, Unit, resolve, resolve_in_load};
use waggle_results::{RunInfo, SystemMetricInfo, SystemMetricUnit};

/// `None`: there is no such metric.
pub(crate) fn resolve_path(path: &[String]) -> Option<NamedMetric<'_>> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    resolve(&parts)
}

/// The metric of a path in a run with these system metrics, in the unit of its values.
pub(crate) fn resolve_in_run<'a>(
    path: &'a [String],
    metrics: &[SystemMetricInfo],
) -> Option<NamedMetric<'a>> {
    let named = resolve_path(path)?;
    let unit = named.of.map(|name| unit_of_metric(metrics, name));
    Some(unit.map_or(named, |unit| named.in_own_unit(unit)))
}

/// The unit of the values of the system metric of this name.
#[must_use]
pub fn unit_of_metric(metrics: &[SystemMetricInfo], name: &str) -> Unit {
    let system_metric = metrics.iter().find(|metric| metric.name == name);
    system_metric.map_or(Unit::Count, own_unit)
}

/// The unit of the values of a system metric.
#[must_use]
pub fn own_unit(metric: &SystemMetricInfo) -> Unit {
    match metric.unit {
        None => Unit::Count,
        Some(SystemMetricUnit::Microseconds) => Unit::Time,
        Some(SystemMetricUnit::PerSecond) => Unit::Rate,
        Some(SystemMetricUnit::Share) => Unit::Share,
        Some(SystemMetricUnit::Cpus) => Unit::Cpus,
        Some(SystemMetricUnit::Bytes) => Unit::Bytes,
        Some(SystemMetricUnit::BytesPerSecond) => Unit::ByteRate,
    }
}

/// `None`: there is no such metric.
pub(crate) fn metric(path: &[String]) -> Option<Metric> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let named = resolve_in_load(&parts).or_else(|| resolve_path(path));
    named.map(|named| named.row.metric)
}

/// What a number that a path names is counted in, in a run with these system metrics.
#[must_use]
pub fn unit(path: &[String], metrics: &[SystemMetricInfo]) -> Unit {
    resolve_in_run(path, metrics).map_or(Unit::Count, |named| named.row.unit)
}

/// Every path by which the run's question, thresholds, bounds, search and reference results name a metric.
pub(crate) fn paths(info: &RunInfo) -> impl Iterator<Item = &Vec<String>> {
    let thresholds = info.thresholds.iter().map(|threshold| &threshold.metric);
    let conditions = info.search.iter().flat_map(|search| &search.conditions);
    let columns = info.reference.iter().flat_map(|all| &all.columns);
    let asks = info.asks.iter();
    let bounds = info.scaling.iter().flat_map(|scaling| &scaling.bounds);
    asks.chain(thresholds)
        .chain(conditions.map(|condition| &condition.metric))
        .chain(columns.map(|column| &column.metric))
        .chain(bounds.map(|bound| &bound.metric))
}

/// The metric of a path, the same by whichever of its names: all that is sent, and the probe where records must arrive, are not named.
#[must_use]
pub fn without_names<'a>(path: &'a [String], info: &RunInfo) -> Option<NamedMetric<'a>> {
    let named = resolve_in_run(path, &info.metrics)?;
    let scenario = info.scenario.iter();
    let steps: Vec<&String> = scenario.flat_map(|scenario| &scenario.steps).collect();
    let name = named.of.filter(|name| match named.row.subject {
        Subject::Load | Subject::WholeLoad => steps.iter().any(|step| step == name),
        Subject::Answers => false,
        Subject::Probe => info.delivery_probe.as_deref() != Some(*name),
        _ => true,
    });
    Some(NamedMetric { of: name, ..named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_metrics() {
        let check = |path: &str, expected: Option<(Metric, Option<&str>)>| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let actual = resolve_path(&path).map(|actual| (actual.row.metric, actual.of));
            assert_eq!(actual, expected, "{path:?}");
            assert_eq!(
                metric(&path),
                expected.map(|(metric, _)| metric),
                "{path:?}"
            );
        };
        check(
            "generator.utilization",
            Some((Metric::GeneratorUtilization, None)),
        );
        check(
            "metrics.queue.end",
            Some((Metric::SystemMetricEnd, Some("queue"))),
        );
        check("generator.busy", None);
    }
}
