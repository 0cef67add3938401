//! Sentences about limits of components.

use waggle_analysis::{ComponentLimits, as_f64};
use waggle_results::LimitMeans;

use crate::words::format::Unit;

/// `0.5 CPUs, 512 MiB by cgroup v2`, of several replicas `3 × 0.5 CPUs …`.
pub(crate) fn amounts(limits: &ComponentLimits) -> String {
    let times = match limits.replicas {
        1 => String::new(),
        count => format!("{count} × "),
    };
    let cpus = limits
        .cpus
        .map(|limit| (format!("{times}{}", cpus(limit.cpus)), limit.by));
    let memory = limits
        .memory
        .map(|limit| (format!("{times}{}", memory(limit.bytes)), limit.by));
    match (cpus, memory) {
        (Some((cpus, kind)), Some((memory, other))) if kind == other => {
            format!("{cpus}, {memory} by {}", means(kind))
        }
        (cpus, memory) => {
            let parts = cpus.into_iter().chain(memory);
            let parts = parts.map(|(amount, by)| format!("{amount} by {}", means(by)));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

/// `0.5 CPUs`, `1 CPU`.
#[must_use]
pub fn cpus(cpus: f64) -> String {
    let unit = if cpus == 1.0 { "CPU" } else { "CPUs" };
    format!("{cpus} {unit}")
}

/// `512 MiB`.
#[must_use]
pub fn memory(bytes: u64) -> String {
    Unit::Bytes.show(as_f64(bytes))
}

fn means(means: LimitMeans) -> &'static str {
    match means {
        LimitMeans::CgroupV1 => "cgroup v1",
        LimitMeans::CgroupV2 => "cgroup v2",
        LimitMeans::Affinity => "CPU affinity",
        LimitMeans::Container => "limits of its container",
    }
}

/// Of the table of limits.
pub(crate) fn caption() -> &'static str {
    "Limits of each replica, and by which means. By a cgroup a replica has its CPU time in each period of 100 ms: throttled is a period in \
     which it had used that up and waited for the next one (share of the periods in the measured phase in which it had something to do). \
     Memory is without swap"
}
