//! A run that goes on: its trials judged one by one as they end, and its cells over those that have.

use std::path::Path;

use waggle_results::{ReadError, Run, RunInfo, Trial, TrialKey};
use waggle_stats::{Estimate, Findings, Verdict};

use crate::{factor::counted_unit, judge, prepared::Prepared, trial};

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
    let (info, raw) = read(run, key)?;
    let model = trial::trial(&raw, &info, counted_unit(&info));
    Ok(TrialSoFar {
        verdict: model.verdict,
        goodput_per_s: model.counts().map(|numbers| numbers.goodput_per_s),
    })
}

/// What the checks find in one trial of a run.
///
/// # Errors
/// As [`trial_so_far()`].
pub fn findings(run: &Path, key: TrialKey) -> Result<Findings, ReadError> {
    let (info, raw) = read(run, key)?;
    Ok(judge::trial(&Prepared::new(&raw), &info))
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

/// What is known of a cell; `max_ci_width` as in the study.
#[must_use]
pub fn cell_so_far(trials: &[TrialSoFar], max_ci_width: f64) -> CellSoFar {
    let goodputs: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.goodput_per_s)
        .collect();
    let goodput = waggle_stats::estimate(&goodputs);
    let verdicts: Vec<Verdict> = trials.iter().map(|trial| trial.verdict).collect();
    let reasons = waggle_stats::cell_reasons(&verdicts, goodput.as_ref(), max_ci_width);
    CellSoFar {
        verdict: (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons)),
        goodput,
    }
}
