//! The columns of the component that used most CPU, in runs in which any was sampled.

use super::number;
use waggle_analysis::{Model, TrialModel, busiest_of_trial, cpus_of_system};

const HEADS: [&str; 3] = [
    "busiest_component",
    "busiest_component_cores",
    "busiest_component_share_of_cpus",
];

pub(super) fn heads(model: &Model) -> Vec<String> {
    let columns = HEADS.iter().filter(|_| is_known(model));
    columns.map(|name| (*name).to_owned()).collect()
}

pub(super) fn fields(model: &Model, trial: &TrialModel) -> Vec<String> {
    if !is_known(model) {
        return Vec::new();
    }
    let numbers = trial.numbers.as_ref();
    match numbers.and_then(busiest_of_trial) {
        Some((component, cores)) => {
            let share = cores / f64::from(cpus_of_system(&model.info));
            vec![component, number(cores), number(share)]
        }
        None => vec![String::new(); HEADS.len()],
    }
}

fn is_known(model: &Model) -> bool {
    let mut trials = model
        .trials
        .iter()
        .filter_map(|trial| trial.numbers.as_ref());
    trials.any(|numbers| busiest_of_trial(numbers).is_some())
}
