//! How soon the system had recovered after the load dropped: a cell's figures over its trials.

use waggle_metrics::{Metric, NamedMetric};
use waggle_results::RecoveryInfo;
use waggle_stats::{Control, Estimate, Recovery};

use crate::{
    metric::aggregate,
    trial::{recovery::TrialRecovery, trial_model::TrialModel},
};

/// What the trials of a cell showed together.
#[derive(Debug, Clone, PartialEq)]
pub struct CellRecovery {
    pub asked: RecoveryInfo,
    /// The controls of all trials together; `None` if the study has none.
    pub control: Option<Control>,
    /// By repetition.
    pub trials: Vec<Recovery>,
    /// How many of them recovered while it was looked for.
    pub recovered: usize,
    /// In µs, where all of them did.
    pub after: Option<Estimate>,
}

impl CellRecovery {
    /// How long it was looked for, in seconds, where a trial did not recover within that.
    #[must_use]
    pub fn not_within_s(&self) -> Option<f64> {
        let longest = self.trials.iter().filter_map(|trial| match trial {
            Recovery::NotWithin(looked_s) => Some(*looked_s),
            Recovery::After(_) | Recovery::NoReference => None,
        });
        longest.reduce(f64::max)
    }

    /// The trials that did not recover while it was observed.
    #[must_use]
    pub fn not_recovered(&self) -> usize {
        self.count(|trial| matches!(trial, Recovery::NotWithin(_)))
    }

    /// The trials whose control was bad itself.
    #[must_use]
    pub fn without_reference(&self) -> usize {
        self.count(|trial| matches!(trial, Recovery::NoReference))
    }

    fn count(&self, is: impl Fn(&Recovery) -> bool) -> usize {
        self.trials.iter().filter(|trial| is(trial)).count()
    }
}

/// `None` where the load dropped in none of the trials.
pub(crate) fn over_trials(trials: &[&TrialModel]) -> Option<CellRecovery> {
    let each: Vec<TrialRecovery> = trials.iter().filter_map(|trial| trial.recovery).collect();
    let outcomes: Vec<Recovery> = each.iter().map(|trial| trial.outcome).collect();
    let has_recovered = |outcome: &&Recovery| matches!(outcome, Recovery::After(_));
    let control = each.iter().filter_map(|trial| trial.control);
    let control = control.reduce(|all, trial| Control {
        bad: all.bad + trial.bad,
        intervals: all.intervals + trial.intervals,
    });
    Some(CellRecovery {
        control,
        asked: each.first()?.load_drop.recovery,
        recovered: outcomes.iter().filter(has_recovered).count(),
        after: aggregate::estimate(&NamedMetric::of_all(Metric::RecoveryTime), trials),
        trials: outcomes,
    })
}
