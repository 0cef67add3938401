//! Limits of components: what was applied in a cell, and how much a component was throttled.

use waggle_results::{CpuLimit, LimitInfo, MemoryLimit};
use waggle_stats::Estimate;

use crate::{
    info::instrument::component_of,
    recording::histogram::as_f64,
    trial::trial_model::{TrialModel, TrialNumbers},
};

/// The limits of a component in a cell; all its replicas have the same.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentLimits {
    pub component: String,
    pub replicas: usize,
    pub cpus: Option<CpuLimit>,
    pub memory: Option<MemoryLimit>,
    /// The share of the periods that were throttled; `None`: not known.
    pub throttled: Option<Estimate>,
}

/// The share of throttled periods of each component that has a limit on CPUs by a cgroup, all its replicas together. A component that
/// had nothing to do was not throttled.
pub(crate) fn throttled_shares(limits: &[LimitInfo]) -> Vec<(String, f64)> {
    let mut sums: Vec<(&str, u64, u64)> = Vec::new();
    for limit in limits {
        let Some(throttling) = limit.throttling else {
            continue;
        };
        let component = component_of(&limit.replica);
        let (throttled, all) = (throttling.throttled_periods, throttling.periods);
        match sums.iter_mut().find(|(name, ..)| *name == component) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + throttled, sum.2 + all),
            None => sums.push((component, throttled, all)),
        }
    }
    let share = |throttled: u64, all: u64| match all {
        0 => 0.0,
        _ => as_f64(throttled) / as_f64(all),
    };
    sums.into_iter()
        .map(|(name, throttled, all)| (name.to_owned(), share(throttled, all)))
        .collect()
}

/// A component without a limit is never throttled: notes that in a run that limits any. In other runs the metric would be zeros only.
pub(crate) fn note_unthrottled(trials: &mut [TrialModel]) {
    if trials.iter().all(|trial| trial.info.limits.is_empty()) {
        return;
    }
    let numbers = trials.iter_mut().filter_map(|trial| trial.numbers.as_mut());
    numbers.for_each(note_unthrottled_components);
}

/// The same in one trial, whatever the other trials of the run have.
pub(crate) fn note_unthrottled_components(numbers: &mut TrialNumbers) {
    for (name, _) in &numbers.component_rss {
        let throttled = &mut numbers.component_throttled;
        if throttled.iter().all(|(known, _)| known != name) {
            throttled.push((name.clone(), 0.0));
        }
    }
}

/// The limits in a cell, also of trials that failed; `estimates` are those of the throttled periods.
pub(crate) fn of_cell(
    trials: &[&TrialModel],
    estimate: impl Fn(&str) -> Option<Estimate>,
) -> Vec<ComponentLimits> {
    let mut limits: Vec<ComponentLimits> = Vec::new();
    // A failed trial may not have started all of them.
    let Some(most) = trials.iter().max_by_key(|trial| trial.info.limits.len()) else {
        return limits;
    };
    for limit in &most.info.limits {
        let component = component_of(&limit.replica);
        match limits.iter_mut().find(|known| known.component == component) {
            Some(known) => known.replicas += 1,
            None => limits.push(ComponentLimits {
                component: component.to_owned(),
                replicas: 1,
                cpus: limit.cpus,
                memory: limit.memory,
                throttled: estimate(component),
            }),
        }
    }
    limits
}

/// The share of a component's throttled periods in one trial.
pub(crate) fn throttled_share(numbers: &TrialNumbers, component: &str) -> Option<f64> {
    let mut all = numbers.component_throttled.iter();
    all.find(|(name, _)| name == component)
        .map(|(_, share)| *share)
}

#[cfg(test)]
mod tests {
    use waggle_results::{LimitInfo, ThrottlingInfo};

    use super::{note_unthrottled_components, throttled_share, throttled_shares};
    use crate::trial::{memory::Memory, trial_model::TrialNumbers};

    #[test]
    fn replicas_of_a_component_are_taken_together() {
        let limit = |replica: &str, periods: Option<(u64, u64)>| LimitInfo {
            replica: replica.to_owned(),
            throttling: periods.map(|(periods, throttled_periods)| ThrottlingInfo {
                periods,
                throttled_periods,
                throttled_s: 0.1,
            }),
            ..LimitInfo::default()
        };
        let limits = [
            limit("front-0", Some((10, 10))),
            limit("store-0", None),
            limit("front-1", Some((30, 0))),
            limit("idle-0", Some((0, 0))),
        ];
        let expected = [("front".to_owned(), 0.25), ("idle".to_owned(), 0.0)];
        assert_eq!(throttled_shares(&limits), expected);
    }

    #[test]
    fn a_component_without_a_limit_is_never_throttled() {
        let memory = Memory {
            mean_bytes: 1.0,
            max_bytes: 1.0,
        };
        let mut numbers = TrialNumbers {
            component_rss: ["front", "store"]
                .map(|name| (name.to_owned(), memory))
                .into(),
            component_throttled: vec![("front".to_owned(), 0.5)],
            ..TrialNumbers::default()
        };
        note_unthrottled_components(&mut numbers);
        let share = |component| throttled_share(&numbers, component);
        assert_eq!(
            [share("front"), share("store"), share("other")],
            [Some(0.5), Some(0.0), None]
        );
    }
}
