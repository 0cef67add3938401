//! Stalls over the trials of a cell, and what an arrival at a random instant waits beside what the requests of the load did.

use waggle_metrics::{Metric, NamedMetric, Statistic};
use waggle_spec::TimeKind;
use waggle_stats::{Finding, Stall, SystemFinding};

use crate::{metric::number::Number, run::run_model::Model, trial::trial_model::TrialModel};

/// From this ratio on the two percentiles are told beside each other.
const DIFFERS_FROM: f64 = 1.5;

/// The stalls in the trials of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellStalls {
    /// Trials with a stall, and those that were looked at.
    pub trials: usize,
    pub of: usize,
    /// Trials whose times are lower bounds, because nobody arrived in the stall.
    pub omitted: usize,
    /// Those of the trial that they take the largest share of, and its repetition.
    pub largest: Stall,
    pub repetition: u32,
}

/// A percentile of a load that waits for answers, by two weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoWeights {
    /// What an arrival at a random instant waits.
    pub by_time: Number,
    /// What the requests of the load waited.
    pub by_request: Number,
}

impl TwoWeights {
    /// Whether one alone would say too little.
    #[must_use]
    pub fn differ(&self) -> bool {
        let ratio = self.by_time.point() / self.by_request.point();
        !(1.0 / DIFFERS_FROM..=DIFFERS_FROM).contains(&ratio)
    }
}

impl Model {
    /// `None`: no trial of the cell has a stall that is known.
    #[must_use]
    pub fn stalls_of_cell(&self, cell: u32) -> Option<CellStalls> {
        let counted = || {
            self.trials_of(cell)
                .filter(|trial| trial.counts().is_some())
        };
        let stalled = || counted().filter_map(|trial| Some((trial, trial.counts()?.stall()?)));
        let (largest_in, largest) =
            stalled().max_by(|(_, stall), (_, other)| stall.ratio().total_cmp(&other.ratio()))?;
        Some(CellStalls {
            trials: stalled().count(),
            of: counted().count(),
            omitted: stalled().filter(|(trial, _)| is_omitted(trial)).count(),
            largest,
            repetition: largest_in.info.key.repetition,
        })
    }

    /// The p99 of response times in a cell; `None`: requests come by themselves, or single ones are not known.
    #[must_use]
    pub fn p99_by_weights(&self, cell: u32) -> Option<TwoWeights> {
        let p99 = |metric| NamedMetric {
            statistic: Some(Statistic::P99),
            ..NamedMetric::of_all(metric)
        };
        Some(TwoWeights {
            by_time: self.number_of_cell(&p99(Metric::TimeWeightedResponseTime), cell)?,
            by_request: self.number_of_cell(&p99(Metric::Time(TimeKind::Response)), cell)?,
        })
    }
}

/// Whether the times of a trial lack arrivals.
fn is_omitted(trial: &TrialModel) -> bool {
    let mut findings = trial.reasons.iter().map(|reason| &reason.finding);
    let is_of_load = trial
        .counts()
        .is_some_and(|numbers| numbers.time_weighted.is_some());
    findings.any(|finding| match finding {
        Finding::System(SystemFinding::Omitted(_)) => true,
        Finding::System(SystemFinding::Stalled(_)) => is_of_load,
        _ => false,
    })
}
