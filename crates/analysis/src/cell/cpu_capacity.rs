//! What a request or record costs the system in CPU where CPU is what limits: of a closed load that scatters less from trial to trial
//! than the goodput does, because a trial with less CPU does less.

use waggle_results::RunInfo;
use waggle_spec::LoadKind;
use waggle_stats::{Estimate, Scale};

use crate::{
    cell::contention::is_contended,
    info::{
        factor::{Counted, counted_unit},
        system_kind::is_duet,
    },
    trial::trial_model::{TrialModel, TrialNumbers},
};

/// From this share of the CPUs on they are full.
pub(crate) const CPU_FULL: f64 = 0.9;
/// Beside other programs that fill the CPUs the system must have so much of its own: else it may be waiting, and not for CPU.
const BESIDE_OTHERS_MIN: f64 = 0.5;

/// CPU per request or record of a saturated system, and what one CPU is good for.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuCapacity {
    pub counted: Counted,
    /// In microseconds.
    pub cpu_us: Estimate,
    /// The rate that costs one CPU all of its time.
    pub per_cpu_per_s: f64,
    /// Trials that it rests on: those without others in which the system filled its CPUs. Without any, all that did beside others.
    pub trials: usize,
    /// Other programs disturbed all of them, so the system's own cost is this or less, and a CPU is good for this or more.
    pub is_contended: bool,
}

/// Of a cell's trials that came to their end; `None`: CPU does not limit, or the load is not closed.
pub(crate) fn cpu_capacity(trials: &[&TrialModel], info: &RunInfo) -> Option<CpuCapacity> {
    if info.load_model != LoadKind::Closed || is_duet(info) {
        return None;
    }
    let quiet = costs_us(trials, |trial, numbers| {
        !is_contended(trial) && fills_its_cpus(trial, numbers)
    });
    let costs = match quiet.is_empty() {
        false => quiet.clone(),
        true => costs_us(trials, |trial, numbers| {
            let is_full = 1.0 - numbers.machine.map_or(1.0, |machine| machine.cpu_idle) >= CPU_FULL;
            let is_main = used_share(trial, numbers) >= BESIDE_OTHERS_MIN;
            is_contended(trial) && is_main && (is_full || fills_its_cpus(trial, numbers))
        }),
    };
    let cpu_us = waggle_stats::estimate(&costs, Scale::default())?;
    Some(CpuCapacity {
        counted: counted_unit(info),
        cpu_us,
        per_cpu_per_s: 1e6 / cpu_us.point,
        trials: costs.len(),
        is_contended: quiet.is_empty(),
    })
}

/// Of the trials that are meant.
fn costs_us(
    trials: &[&TrialModel],
    is_meant: impl Fn(&TrialModel, &TrialNumbers) -> bool,
) -> Vec<f64> {
    let counted = trials
        .iter()
        .filter_map(|trial| Some((*trial, trial.counts()?)));
    counted
        .filter(|(trial, numbers)| is_meant(trial, numbers))
        .filter_map(|(_, numbers)| cost_us(numbers))
        .collect()
}

fn fills_its_cpus(trial: &TrialModel, numbers: &TrialNumbers) -> bool {
    used_share(trial, numbers) >= CPU_FULL
}

/// Share of its CPUs that the system used; 0 if it is not known.
fn used_share(trial: &TrialModel, numbers: &TrialNumbers) -> f64 {
    let used = system_cores(numbers).zip(trial.system_cpus);
    used.map_or(0.0, |(cores, cpus)| cores / f64::from(cpus))
}

/// `None`: not all of the system is known.
fn system_cores(numbers: &TrialNumbers) -> Option<f64> {
    numbers.machine?.system_cores
}

/// CPU time of the system for one of what goodput counts.
fn cost_us(numbers: &TrialNumbers) -> Option<f64> {
    let cost = system_cores(numbers)? * 1e6 / numbers.goodput_per_s;
    (cost.is_finite() && cost > 0.0).then_some(cost)
}
