//! How a system was prepared, in the trial in which that was done.

use waggle_results::{PrepareLoadInfo, SnapshotInfo, TrialInfo};
use waggle_stats::Part;

use crate::{
    recording::histogram::{self, TrialPercentiles},
    trial::load_rates::{self, per_second},
};

/// The preparation in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPreparation {
    pub loads: Vec<TrialPrepareLoad>,
    pub settle_s: Option<f64>,
    pub snapshot: Option<SnapshotInfo>,
}

/// One load of a preparation.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPrepareLoad {
    pub info: PrepareLoadInfo,
    /// Of all requests; `None`: none succeeded.
    pub response: Option<TrialPercentiles>,
    /// By step, in their order.
    pub steps: Vec<Option<TrialPercentiles>>,
}

impl TrialPrepareLoad {
    /// Succeeded requests per second; `None` if it took no time.
    #[must_use]
    pub fn goodput_per_s(&self) -> Option<f64> {
        per_second(self.info.counts.succeeded, self.info.seconds)
    }

    /// Completed sessions per second; `None` if it took no time.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        per_second(self.info.completed, self.info.seconds)
    }

    /// Failed requests of all that were answered or lost.
    #[must_use]
    pub fn failed_share(&self) -> Part {
        let counts = &self.info.counts;
        load_rates::failed_share(counts.succeeded, counts.failed)
    }
}

/// `None`: the trial prepared nothing.
pub(crate) fn of_trial(info: &TrialInfo) -> Option<TrialPreparation> {
    let preparation = info.preparation.as_ref()?;
    Some(TrialPreparation {
        loads: preparation.loads.iter().map(prepare_load).collect(),
        settle_s: preparation.settle_s,
        snapshot: preparation.snapshot.clone(),
    })
}

fn prepare_load(load: &PrepareLoadInfo) -> TrialPrepareLoad {
    let times = |quantiles: &Option<_>, count| {
        let quantiles = quantiles.as_ref()?;
        Some(histogram::of_quantiles(quantiles, count))
    };
    let steps = load.steps.iter();
    TrialPrepareLoad {
        response: times(&load.response_time, load.counts.succeeded),
        steps: steps
            .map(|step| times(&step.response_time, step.counts.succeeded))
            .collect(),
        info: load.clone(),
    }
}
