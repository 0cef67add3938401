//! A run that goes on: its trials judged one by one as they end, and its cells over those that have.

use std::path::Path;

use waggle_results::{ReadError, Run, TrialKey};
use waggle_stats::{Estimate, Verdict};

use crate::{factor::counted, trial};

/// One trial, as far as its cell rests on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialSoFar {
    pub verdict: Verdict,
    /// `None`: it did not come to its end, or measured nothing.
    pub goodput_per_s: Option<f64>,
}

/// One cell over the trials that have ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellSoFar {
    /// `None`: no trial of it has ended.
    pub verdict: Option<Verdict>,
    /// Per second.
    pub goodput: Option<Estimate>,
}

/// Judges one trial of a run.
///
/// # Errors
/// The run cannot be read, or has no such trial.
pub fn trial_so_far(run: &Path, key: TrialKey) -> Result<TrialSoFar, ReadError> {
    let read = Run::read_with_trial(run, key)?;
    let raw = read.trials.first().ok_or_else(|| ReadError::Folder {
        path: run.to_owned(),
        problem: format!("{key} has no result"),
    })?;
    let model = trial::trial(raw, &read.info, counted(&read.info));
    Ok(TrialSoFar {
        verdict: model.verdict,
        goodput_per_s: model.counts().map(|numbers| numbers.goodput_per_s),
    })
}

/// What is known of a cell; `noisy_above` as in the study.
#[must_use]
pub fn cell_so_far(trials: &[TrialSoFar], noisy_above: f64) -> CellSoFar {
    let goodputs: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.goodput_per_s)
        .collect();
    let goodput = waggle_stats::estimate(&goodputs);
    let verdicts: Vec<Verdict> = trials.iter().map(|trial| trial.verdict).collect();
    let reasons = waggle_stats::cell_reasons(&verdicts, goodput.as_ref(), noisy_above);
    CellSoFar {
        verdict: (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons)),
        goodput,
    }
}
