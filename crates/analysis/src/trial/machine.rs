//! What the CPUs of the machine did in a trial, and for whom.

use waggle_results::{MachineInfo, RunInfo};

use crate::{
    info::{
        instrument::INSTRUMENT,
        system_kind::{external_components, is_duet},
    },
    recording::{samples, trial_view::TrialView},
};

/// What the CPUs did in a trial. Runs from before the runner noted who used them have it from the samples of the processes, if
/// waggle started all of the system: 2 CPUs of which a half is idle, and 0.4 cores of the system and waggle, leave 0.6 to others.
pub(crate) fn machine(view: &TrialView<'_>, info: &RunInfo) -> Option<MachineInfo> {
    let machine = view.trial.info.machine?;
    // Of two versions at the same time each is a part of what the other one sees.
    if is_duet(info) {
        return Some(MachineInfo {
            other_cores: None,
            ..machine
        });
    }
    if machine.own_cores.is_some() || !external_components(info).is_empty() {
        return Some(machine);
    }
    let cores = view.samples.cores(view.measured);
    let system = samples::of_system(&cores);
    let own = cores.iter().find(|(name, _)| *name == INSTRUMENT);
    let own = own.map(|(_, cores)| *cores);
    let busy = f64::from(info.host.cpus) * (1.0 - machine.cpu_idle - machine.cpu_steal);
    let others = system
        .zip(own)
        .map(|(system, own)| (busy - system - own).max(0.0));
    Some(MachineInfo {
        own_cores: own,
        system_cores: system,
        other_cores: others,
        ..machine
    })
}
