//! Evaluates conditions on a load that has ended. Pure.

use anyhow::{Result, anyhow};
use waggle_analysis::{Decision, EndedLoad, Shortcoming, held_in_load};
use waggle_report::wording;
use waggle_spec::Threshold;

use super::summary::ThresholdResult;

/// Parses the conditions of a flag, for a load with these steps.
///
/// # Errors
/// A text is not a condition, or names an unknown metric.
pub(crate) fn conditions(flag: &str, texts: &[String], steps: &[String]) -> Result<Vec<Threshold>> {
    let read = |text: &String| {
        waggle_study::read_threshold(text, steps)
            .map_err(|message| anyhow!("{flag} {text:?}: {message}"))
    };
    texts.iter().map(read).collect()
}

/// Evaluates a condition, with the reasons of the verdict: as in studies, a doubt counts if it concerns the metric.
pub(crate) fn threshold(threshold: &Threshold, load: &EndedLoad) -> ThresholdResult {
    let observed = load.value(&threshold.metric);
    let (held, reason) = match observed {
        Some(value) => held_in_load(threshold, value, &load.model.reasons),
        None => (
            Decision::Undecided,
            Some(Shortcoming::NoMetric(threshold.metric.clone())),
        ),
    };
    let unit = waggle_analysis::unit(&threshold.metric, &[]);
    ThresholdResult {
        condition: threshold.text.clone(),
        holds: held == Decision::Holds,
        undecided: held == Decision::Undecided,
        observed,
        reason: reason.map(|reason| wording::conditions::shortcoming(&reason, unit)),
    }
}
