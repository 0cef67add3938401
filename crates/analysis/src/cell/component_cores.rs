//! CPU cores of the components over the trials of a cell: of each replica, and of its replicas together.

use waggle_metrics::{Metric, NamedMetric};
use waggle_stats::{Estimate, Scale};

use crate::{
    info::instrument::component_of,
    metric::scale::scale,
    trial::{
        bottleneck::whole_components,
        trial_model::{TrialModel, TrialNumbers},
    },
};

/// Cores by name.
type NamedCores = Vec<(String, Estimate)>;

/// Of each replica, and of all replicas of each component together.
pub(crate) fn over_trials(
    counted: &[(&TrialModel, &TrialNumbers)],
    trials: &[&TrialModel],
) -> (NamedCores, NamedCores) {
    let scale = scale(&NamedMetric::of_all(Metric::ComponentCpu), trials);
    let replicas = component_cores(counted, scale);
    let whole = whole_component_cores(counted, &replicas, scale);
    (replicas, whole)
}

/// Of each replica.
fn component_cores(
    counted: &[(&TrialModel, &TrialNumbers)],
    scale: Scale,
) -> Vec<(String, Estimate)> {
    let replicas = values_by_name(counted, |numbers| numbers.component_cores.clone());
    let estimated = |(replica, values): (String, Vec<f64>)| {
        Some((replica, waggle_stats::estimate(&values, scale)?))
    };
    replicas.into_iter().filter_map(estimated).collect()
}

/// All replicas of each component together; a single replica is estimated already.
fn whole_component_cores(
    counted: &[(&TrialModel, &TrialNumbers)],
    replicas: &[(String, Estimate)],
    scale: Scale,
) -> Vec<(String, Estimate)> {
    let mut whole = Vec::new();
    for (component, values) in values_by_name(counted, whole_components) {
        let mut component_replicas = replicas
            .iter()
            .filter(|(replica, _)| component_of(replica) == component);
        let estimate = match (component_replicas.next(), component_replicas.next()) {
            (Some((_, only)), None) => Some(*only),
            _ => waggle_stats::estimate(&values, scale),
        };
        whole.extend(estimate.map(|estimate| (component, estimate)));
    }
    whole
}

/// What each trial has, by name, in the order in which names first come.
fn values_by_name(
    counted: &[(&TrialModel, &TrialNumbers)],
    of_trial: impl Fn(&TrialNumbers) -> Vec<(String, f64)>,
) -> Vec<(String, Vec<f64>)> {
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    for (component, cores) in counted.iter().flat_map(|(_, numbers)| of_trial(numbers)) {
        match all.iter_mut().find(|(name, _)| *name == component) {
            Some((_, values)) => values.push(cores),
            None => all.push((component, vec![cores])),
        }
    }
    all
}
