//! A run that goes on: its trials judged one by one as they end, and its cells over those that have.

use std::path::Path;

use waggle_results::{ReadError, Run, RunInfo, Trial, TrialKey};
use waggle_stats::{Estimate, Reason, Scale, Verdict};

use crate::{
    cell::asked_metrics::{AskedReading, asked_readings, estimate_readings},
    info::factor::counted_unit,
    trial::trial_model,
};

/// One trial, as far as its cell rests on it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSoFar {
    pub reasons: Vec<Reason>,
    /// `None`: it did not come to its end, or measured nothing.
    pub goodput_per_s: Option<f64>,
    /// Of each metric that the study asks about; empty if it did not come to its end.
    pub asked: Vec<AskedReading>,
}

impl TrialSoFar {
    /// The worst of its reasons.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        waggle_stats::verdict_of(&self.reasons)
    }
}

/// One cell over the trials that have ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellSoFar {
    /// `None`: no trial of it has ended.
    pub verdict: Option<Verdict>,
    /// Per second.
    pub goodput: Option<Estimate>,
    /// Relative width of the widest interval among the metrics that are asked about; `None`: none has an interval.
    pub widest: Option<f64>,
}

/// Judges one trial of a run.
///
/// # Errors
/// The run cannot be read, or has no such trial.
pub fn trial_so_far(run: &Path, key: TrialKey) -> Result<TrialSoFar, ReadError> {
    let (info, raw) = read(run, key)?;
    let model = trial_model::trial(&raw, &info, counted_unit(&info));
    Ok(TrialSoFar {
        goodput_per_s: model.counts().map(|numbers| numbers.goodput_per_s),
        asked: match model.counts() {
            Some(_) => asked_readings(&info, &model),
            None => Vec::new(),
        },
        reasons: model.reasons,
    })
}

fn read(run: &Path, key: TrialKey) -> Result<(RunInfo, Trial), ReadError> {
    let Run {
        info, mut trials, ..
    } = Run::read_with_trial(run, key)?;
    match trials.pop() {
        Some(trial) => Ok((info, trial)),
        None => Err(ReadError::Folder {
            path: run.to_owned(),
            problem: format!("{key} has no result"),
        }),
    }
}

/// What is known of a cell.
#[must_use]
pub fn cell_so_far(trials: &[TrialSoFar]) -> CellSoFar {
    let goodputs = trials.iter().filter_map(|trial| trial.goodput_per_s);
    let goodput = waggle_stats::estimate(&goodputs.collect::<Vec<f64>>(), Scale::default());
    let readings = trials.iter().map(|trial| &*trial.asked);
    let readings: Vec<&[AskedReading]> = readings.filter(|all| !all.is_empty()).collect();
    let asked = estimate_readings(&readings);
    let reasons: Vec<&[Reason]> = trials.iter().map(|trial| &*trial.reasons).collect();
    let reasons = waggle_stats::cell_reasons(&reasons, &asked);
    let widths = asked
        .iter()
        .filter_map(|metric| metric.estimate?.relative_width());
    CellSoFar {
        verdict: (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons)),
        goodput,
        widest: widths.reduce(f64::max),
    }
}
