//! Paths of metrics in earlier versions, with their new paths. Errors in studies name the new path; results of older runs contain
//! the old one.

/// Old path, new path. `*` is any one part, the same on both sides.
const RENAMED: &[(&str, &str)] = &[
    ("*.error_share", "*.error_rate"),
    ("*.achieved_share", "*.achieved_ratio"),
    ("delivery.missing_share", "delivery.loss_rate"),
    ("delivery.*.missing_share", "delivery.*.loss_rate"),
    ("delivery.probe_cost", "delivery.probe_cpu"),
    ("delivery.*.probe_cost", "delivery.*.probe_cpu"),
    ("engine.busy_share", "generator.utilization"),
    ("engine.lag_p99", "generator.lag_p99"),
    ("engine.cpu_per_request", "generator.cpu_per_request"),
    ("engine.possible", "generator.capacity"),
    ("engine.possible_share", "generator.capacity_used"),
    ("machine.stolen_share", "machine.cpu_steal"),
    ("machine.idle_share", "machine.cpu_idle"),
    ("recovery", "recovery_time"),
    ("disturb.ready_again_after", "faults.time_to_ready"),
    ("disturb.longest_without_success", "faults.longest_outage"),
    ("disturb.failed_in_load", "faults.failed_requests"),
    ("watches.*.mean", "metrics.*.mean"),
    ("watches.*.max", "metrics.*.max"),
    ("watches.*.end", "metrics.*.end"),
];

/// The new path of a metric that had this path in an earlier version; `None`: there was none. The name of the request or scenario
/// is optional, as in conditions of `waggle load`.
#[must_use]
pub fn new_path<'a>(old: &[&'a str]) -> Option<Vec<&'a str>> {
    RENAMED.iter().find_map(|(from, to)| {
        let unnamed = || replace(old, from.strip_prefix("*.")?, to.strip_prefix("*.")?);
        replace(old, from, to).or_else(unnamed)
    })
}

/// The path `to`, with `*` replaced by the same part of `path`; `None`: the path does not match `from`.
fn replace<'a>(path: &[&'a str], from: &str, to: &'static str) -> Option<Vec<&'a str>> {
    let parts: Vec<&str> = from.split('.').collect();
    let fits = |(part, pattern): (&&str, &&str)| *pattern == "*" || pattern == part;
    if path.len() != parts.len() || !path.iter().zip(&parts).all(fits) {
        return None;
    }
    let mut named = path
        .iter()
        .zip(&parts)
        .filter(|(_, pattern)| **pattern == "*")
        .map(|(part, _)| *part);
    let new = to.split('.').map(|part| match part {
        "*" => named.next(),
        _ => Some(part),
    });
    new.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resolve, resolve_in_load};

    fn check(old: &str, expected: Option<&str>) {
        let path: Vec<&str> = old.split('.').collect();
        let new = new_path(&path).map(|new| new.join("."));
        assert_eq!(new.as_deref(), expected, "{old}");
    }

    #[test]
    fn old_paths_have_new_metrics() {
        for (old, new) in RENAMED {
            let (old, new) = (old.replace('*', "one"), new.replace('*', "one"));
            check(&old, Some(&new));
            let is_metric = |path: &str| resolve(&path.split('.').collect::<Vec<_>>()).is_some();
            assert!(!is_metric(&old) && is_metric(&new), "{old} {new}");
        }
    }

    #[test]
    fn request_name_is_optional() {
        check("error_share", Some("error_rate"));
        check("achieved_share", Some("achieved_ratio"));
        assert!(resolve_in_load(&["error_rate"]).is_some());
    }

    #[test]
    fn other_paths_are_no_old_ones() {
        for other in [
            "put.error_rate",
            "put.goodput",
            "missing_share",
            "recovery.error",
            "recovery_time",
            "watches.lag",
            "watches.lag.p99",
            "engine",
        ] {
            check(other, None);
        }
    }
}
