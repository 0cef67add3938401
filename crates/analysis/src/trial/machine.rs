//! What the CPUs of the machine did in a trial, and for whom.

use waggle_results::{MachineInfo, RunInfo};

use crate::{info::system_kind::is_duet, recording::trial_view::TrialView};

/// What the CPUs did in a trial.
pub(crate) fn machine(view: &TrialView<'_>, info: &RunInfo) -> Option<MachineInfo> {
    let machine = view.trial.info.machine?;
    // Of two versions at the same time each is a part of what the other one sees.
    if is_duet(info) {
        return Some(MachineInfo {
            other_cores: None,
            ..machine
        });
    }
    Some(machine)
}
