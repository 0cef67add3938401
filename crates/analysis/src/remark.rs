//! What a reader must know before believing any number of the run.

use waggle_results::RunInfo;

use waggle_stats::End;

use crate::{FindModel, TrialModel};

pub(crate) fn warnings(
    info: &RunInfo,
    trials: &[TrialModel],
    find: Option<&FindModel>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if info.host.shared_with_system {
        warnings.push(shared_host(info));
    }
    warnings.extend(ran_already(info));
    warnings.extend(never_reached(info, trials));
    warnings.extend(came_late(trials));
    if let Some(find) = find {
        warnings.extend(of_search(find));
        return warnings;
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

/// What may help the generator.
fn came_late(trials: &[TrialModel]) -> Option<String> {
    let late = trials.iter().filter(|trial| trial.awake_may_help).count();
    (late > 0).then(|| {
        format!(
            "In {late} of {} trials the generator came late while CPUs were idle or taken by the machine's host: --keep-awake may help.",
            trials.len()
        )
    })
}

/// Steps that no session came to: their numbers are missing, and the load was another one than was meant.
fn never_reached(info: &RunInfo, trials: &[TrialModel]) -> Option<String> {
    let numbers: Vec<_> = trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref())
        .collect();
    let steps = &info.scenario.as_ref()?.steps;
    let is_reached = |step: &&String| {
        let mut tried = numbers.iter().flat_map(|trial| &trial.steps);
        tried.any(|tried| tried.name == **step && tried.succeeded + tried.failed > 0)
    };
    let never: Vec<&str> = steps
        .iter()
        .filter(|step| !is_reached(step))
        .map(String::as_str)
        .collect();
    (!numbers.is_empty() && !never.is_empty()).then(|| {
        format!(
            "No session came to {} within the measured phases: longer ones, or shorter pauses, would.",
            never.join(", ")
        )
    })
}

/// A search makes as many trials as it needs, so that those planned say nothing.
fn of_search(find: &FindModel) -> Vec<String> {
    let mut warnings = Vec::new();
    if find.info.confirm == 1 {
        warnings.push("One trial is enough at each level: no uncertainty known.".to_owned());
    }
    let unfinished = find
        .cells
        .iter()
        .filter(|search| search.answer.end == End::Unfinished)
        .count();
    if unfinished > 0 {
        warnings.push(format!(
            "{unfinished} of {} searches are not finished; their answers are those so far.",
            find.cells.len()
        ));
    }
    warnings
}

/// Whether the system ran already: nothing of it was started.
pub fn is_external(info: &RunInfo) -> bool {
    info.components.is_empty()
}

/// Names of the components that waggle did not start, where it started others or could have.
pub fn external_components(info: &RunInfo) -> Vec<&str> {
    let components = info.components.iter();
    components
        .filter(|component| !component.external.is_empty())
        .map(|component| component.name.as_str())
        .collect()
}

/// What cannot be promised of components that somebody else runs.
fn ran_already(info: &RunInfo) -> Option<String> {
    let names = external_components(info);
    (!names.is_empty()).then(|| {
        format!(
            "Not started by waggle, for running already: {}. They were not emptied or started anew between trials, their CPU and \
             memory are not known, and what others did with them meanwhile is part of what was measured.",
            names.join(", ")
        )
    })
}

fn shared_host(info: &RunInfo) -> String {
    let host = &info.host;
    if is_external(info) {
        return "Load generator and server shared one machine; the server ran already, on whichever CPUs it was given, and was not \
                started anew between trials."
            .to_owned();
    }
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
