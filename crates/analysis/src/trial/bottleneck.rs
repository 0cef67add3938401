//! Which component used most CPU, in a trial and over the trials of a cell. That it used most does not make it what limits: it is told
//! as what it is.

use waggle_results::RunInfo;
use waggle_stats::Estimate;

use crate::{
    info::instrument::{INSTRUMENT, component_of},
    trial::trial_model::TrialNumbers,
};

/// The component that used most CPU in a cell, all its replicas together.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    pub component: String,
    pub cores: Estimate,
    /// Of the CPUs that the system could use; `None`: how many that are is not known.
    pub share: Option<f64>,
    /// Of the CPU that all components used together.
    pub of_all: f64,
    /// In how many of the counted trials it was this one.
    pub trials: usize,
    /// The one that used most of the others.
    pub next: Option<(String, Estimate)>,
}

/// The component that used most CPU in one trial, with its cores; `None` where none was sampled.
pub fn of_trial(numbers: &TrialNumbers) -> Option<(String, f64)> {
    let all = whole_components(numbers).into_iter();
    all.filter(|(component, _)| component != INSTRUMENT)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Of a cell whose components used this much, by the trials that it rests on.
pub(crate) fn of_cell<'a>(
    whole: &[(String, Estimate)],
    trials: impl Iterator<Item = &'a TrialNumbers>,
    info: &RunInfo,
) -> Option<Bottleneck> {
    let mut system: Vec<&(String, Estimate)> = whole
        .iter()
        .filter(|(component, _)| component != INSTRUMENT)
        .collect();
    system.sort_by(|a, b| b.1.point.total_cmp(&a.1.point));
    let (component, cores) = (*system.first()?).clone();
    let all: f64 = system.iter().map(|(_, cores)| cores.point).sum();
    let is_first =
        |numbers: &&TrialNumbers| of_trial(numbers).is_some_and(|(first, _)| first == component);
    Some(Bottleneck {
        share: cpus_of_system(info).map(|cpus| cores.point / f64::from(cpus)),
        of_all: if all > 0.0 { cores.point / all } else { 0.0 },
        trials: trials.filter(is_first).count(),
        next: system.get(1).map(|next| (*next).clone()),
        component,
        cores,
    })
}

/// How many CPUs the system could use: those that it was pinned to, else all of the machine. `None`: it is on nodes of a cluster.
pub fn cpus_of_system(info: &RunInfo) -> Option<u32> {
    if info.system_pods.is_some() || info.system_manifests {
        return None;
    }
    let cpus = match info.host.system_cpus.len() {
        0 => info.host.cpus,
        pinned => u32::try_from(pinned).unwrap_or(u32::MAX),
    };
    Some(cpus.max(1))
}

/// The replicas of each component together: `gateway-0` and `gateway-1` are `gateway`.
pub(crate) fn whole_components(numbers: &TrialNumbers) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for (replica, cores) in &numbers.component_cores {
        let component = component_of(replica);
        match all.iter_mut().find(|(name, _)| name == component) {
            Some((_, sum)) => *sum += cores,
            None => all.push((component.to_owned(), *cores)),
        }
    }
    all
}
