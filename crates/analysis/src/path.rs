//! Which metric a path of a study or of a load names, also one that a run of an earlier version has.

use waggle_metrics::{Metric, NamedMetric, new_path, resolve, resolve_in_load};

/// `None`: there is no such metric.
pub(crate) fn resolve_path(path: &[String]) -> Option<NamedMetric<'_>> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    resolve(&parts).or_else(|| resolve(&new_path(&parts)?))
}

/// `None`: there is no such metric.
pub(crate) fn metric(path: &[String]) -> Option<Metric> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let named = resolve_in_load(&parts).or_else(|| resolve_path(path));
    named.map(|named| named.row.metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_earlier_versions_name_metrics() {
        let check = |path: &str, expected: Option<(Metric, Option<&str>)>| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let found = resolve_path(&path).map(|found| (found.row.metric, found.of));
            assert_eq!(found, expected, "{path:?}");
            assert_eq!(
                metric(&path),
                expected.map(|(metric, _)| metric),
                "{path:?}"
            );
        };
        let utilization = Some((Metric::GeneratorUtilization, None));
        check("engine.busy_share", utilization);
        check("generator.utilization", utilization);
        check("recovery", Some((Metric::RecoveryTime, None)));
        check(
            "watches.queue.end",
            Some((Metric::SystemMetricEnd, Some("queue"))),
        );
        check("engine.busy", None);
    }
}
