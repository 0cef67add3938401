//! What a reader must know before believing any number of the run.

use waggle_results::RunInfo;

use super::TrialModel;

pub(crate) fn warnings(info: &RunInfo, trials: &[TrialModel]) -> Vec<String> {
    let mut warnings = Vec::new();
    if info.host.shared_with_system {
        warnings.push(shared_host(info));
    }
    if info.schedule.repeat == 1 {
        warnings.push("Each cell ran once: single run, no uncertainty known.".to_owned());
    }
    if trials.len() < info.order.len() {
        warnings.push(format!(
            "{} of {} planned trials have run; the cells of the others show what there is.",
            trials.len(),
            info.order.len()
        ));
    }
    warnings
}

fn shared_host(info: &RunInfo) -> String {
    let host = &info.host;
    let pinning = if host.load_cpus.is_empty() || host.system_cpus.is_empty() {
        "not pinned, so that they compete for the same CPUs".to_owned()
    } else if host
        .load_cpus
        .iter()
        .any(|cpu| host.system_cpus.contains(cpu))
    {
        format!(
            "on overlapping CPUs (load {}, system {})",
            cpus(&host.load_cpus),
            cpus(&host.system_cpus)
        )
    } else {
        format!(
            "pinned to disjoint CPUs (load {}, system {})",
            cpus(&host.load_cpus),
            cpus(&host.system_cpus)
        )
    };
    format!(
        "Load generator and system shared one machine, {pinning}; memory, disk and kernel were shared."
    )
}

/// `0, 2, 3`.
pub(crate) fn cpus(cpus: &[u32]) -> String {
    cpus.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
