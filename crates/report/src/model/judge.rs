//! The joint with statistics: what is taken from a trial's results to judge it.

use waggle_results::{RunInfo, Trial, TrialEnd};
use waggle_stats::{Estimate, Reason, Verdict};

use super::TrialModel;

/// Over trials; `None` for no trial.
pub(crate) fn estimate(values: &[f64]) -> Option<Estimate> {
    waggle_stats::estimate(values)
}

pub(crate) fn trial(trial: &Trial, _info: &RunInfo) -> (Verdict, Vec<Reason>) {
    let mut reasons = Vec::new();
    if let TrialEnd::Failed { reason, .. } = &trial.info.end {
        reasons.push(Reason {
            verdict: Verdict::Failed,
            text: reason.clone(),
        });
    }
    if let Some(missing) = trial
        .info
        .ledger
        .as_ref()
        .map(|ledger| ledger.missing)
        .filter(|missing| *missing > 0)
    {
        reasons.push(Reason {
            verdict: Verdict::Incomplete,
            text: format!("{missing} accepted records are missing"),
        });
    }
    (
        reasons
            .iter()
            .map(|reason| reason.verdict)
            .max()
            .unwrap_or(Verdict::Valid),
        reasons,
    )
}

pub(crate) fn cell(
    trials: &[&TrialModel],
    goodput: Option<&Estimate>,
    info: &RunInfo,
) -> (Option<Verdict>, Vec<Reason>) {
    let mut reasons: Vec<Reason> = trials
        .iter()
        .flat_map(|trial| {
            trial
                .reasons
                .iter()
                .map(move |reason| (trial.key.repetition, reason))
        })
        .map(|(repetition, reason)| Reason {
            verdict: reason.verdict,
            text: format!("repetition {repetition}: {}", reason.text),
        })
        .collect();
    let width = goodput
        .and_then(Estimate::relative_width)
        .filter(|width| *width > info.schedule.noisy_above);
    if let Some(width) = width {
        reasons.push(Reason {
            verdict: Verdict::Noisy,
            text: format!(
                "goodput's interval is {:.0} % of the mean wide",
                width * 100.0
            ),
        });
    }
    let worst = trials
        .iter()
        .map(|trial| trial.verdict)
        .chain(width.map(|_| Verdict::Noisy))
        .max();
    (worst, reasons)
}
