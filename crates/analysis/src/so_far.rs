//! A run that goes on: its trials judged one by one as they end, and its cells over those that have.

use std::path::Path;

use waggle_metrics::{NamedMetric, OverTrials};
use waggle_results::{Comparison, ReadError, Run, RunInfo, Trial, TrialKey};
use waggle_stats::{Asked, Aspect, Estimate, Findings, Reason, Scale, Verdict};

use crate::{
    TrialModel,
    asked::{asked_metrics, aspect, is_width_open, limits_of},
    factor::counted_unit,
    judge, metric,
    prepared::Prepared,
    scale::scale,
    trial,
};

/// One trial, as far as its cell rests on it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSoFar {
    pub reasons: Vec<Reason>,
    /// `None`: it did not come to its end, or measured nothing.
    pub goodput_per_s: Option<f64>,
    /// Of each metric that is asked about and estimated over trials, in the study's order.
    pub asked: Vec<AskedValue>,
}

impl TrialSoFar {
    /// The worst of its reasons.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        waggle_stats::verdict_of(&self.reasons)
    }
}

/// What one trial has of a metric that the study asks about.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedValue {
    pub aspect: Aspect,
    /// What thresholds and conditions compare it with; `None`: it is part of the headline.
    pub limits: Option<Vec<(Comparison, f64)>>,
    /// `None`: the trial does not have it.
    pub value: Option<f64>,
    pub scale: Scale,
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
    let model = trial::trial(&raw, &info, counted_unit(&info));
    Ok(TrialSoFar {
        goodput_per_s: model.counts().map(|numbers| numbers.goodput_per_s),
        asked: asked_values(&info, &model),
        reasons: model.reasons,
    })
}

/// What the checks find in one trial of a run.
///
/// # Errors
/// As [`trial_so_far()`].
pub fn findings(run: &Path, key: TrialKey) -> Result<Findings, ReadError> {
    let (info, raw) = read(run, key)?;
    Ok(judge::trial(&Prepared::new(&raw), &info).findings)
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

fn asked_values(info: &RunInfo, trial: &TrialModel) -> Vec<AskedValue> {
    let is_estimated = |named: &NamedMetric<'_>| {
        let over = named.over_trials();
        matches!(
            over,
            OverTrials::Mean | OverTrials::MeanOfAll | OverTrials::ShareOfSums
        )
    };
    let value = |named: NamedMetric<'_>| AskedValue {
        aspect: aspect(named.row.metric),
        limits: limits_of(info, &named),
        value: trial.counts().and_then(|_| metric::in_trial(&named, trial)),
        scale: scale(&named, &[trial]),
    };
    let metrics = asked_metrics(info).into_iter().filter(is_estimated);
    metrics.map(value).collect()
}

/// What is known of a cell; `max_ci_width` as in the study.
#[must_use]
pub fn cell_so_far(trials: &[TrialSoFar], max_ci_width: f64) -> CellSoFar {
    let goodputs = trials.iter().filter_map(|trial| trial.goodput_per_s);
    let goodput = waggle_stats::estimate(&goodputs.collect::<Vec<f64>>(), Scale::default());
    let metrics = trials.first().map_or(0, |trial| trial.asked.len());
    let asked: Vec<Asked> = (0..metrics)
        .filter_map(|at| estimate_metric(trials, at))
        .collect();
    let reasons: Vec<&[Reason]> = trials.iter().map(|trial| &*trial.reasons).collect();
    let reasons = waggle_stats::cell_reasons(&reasons, &asked, max_ci_width);
    let widths = asked
        .iter()
        .filter_map(|one| one.estimate?.relative_width());
    CellSoFar {
        verdict: (!trials.is_empty()).then(|| waggle_stats::verdict_of(&reasons)),
        goodput,
        widest: widths.reduce(f64::max),
    }
}

/// One of the metrics over the trials.
fn estimate_metric(trials: &[TrialSoFar], at: usize) -> Option<Asked> {
    let each: Vec<&AskedValue> = trials
        .iter()
        .filter_map(|trial| trial.asked.get(at))
        .collect();
    let values: Vec<f64> = each.iter().filter_map(|one| one.value).collect();
    let coarsest = each
        .iter()
        .max_by(|a, b| a.scale.resolution.total_cmp(&b.scale.resolution))?;
    let limits = coarsest.limits.as_deref();
    let estimate = waggle_stats::estimate(&values, coarsest.scale);
    Some(Asked {
        aspect: coarsest.aspect,
        estimate: estimate.filter(|estimate| is_width_open(limits, estimate)),
    })
}
