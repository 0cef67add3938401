//! The closed set of verdicts a trial or a cell can get, and how several become one.

use crate::{Estimate, words::percent};

/// Whether a trial may be believed. The order is that of severity: a trial with several gets the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every check passed.
    Valid,
    /// The interval over trials is wider than asked.
    Noisy,
    /// The trial never became steady, or changed its level while it was measured.
    Unsteady,
    /// A backlog or queue grew: the system did not keep up with what was asked of it.
    Overloaded,
    /// The generator, not the system, was the limit.
    InstrumentLimited,
    /// Accepted records were missing at the end, which is so however good the instrument was.
    Incomplete,
    /// The account does not add up; the equation is in the reason.
    Inconsistent,
    /// The trial did not come to its end.
    Failed,
}

impl Verdict {
    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Noisy => "noisy",
            Self::Unsteady => "unsteady",
            Self::Overloaded => "overloaded",
            Self::InstrumentLimited => "instrument-limited",
            Self::Incomplete => "incomplete",
            Self::Inconsistent => "inconsistent",
            Self::Failed => "failed",
        }
    }

    /// Whether thresholds count on it; on any other they fail.
    #[must_use]
    pub fn counts_for_thresholds(self) -> bool {
        matches!(self, Self::Valid | Self::Noisy)
    }

    /// Whether what is known of the time after the measured phase counts: that the system did not keep up, or had no one
    /// level, is what it recovers from.
    #[must_use]
    pub fn counts_for_recovery(self) -> bool {
        self.counts_for_thresholds() || matches!(self, Self::Unsteady | Self::Overloaded)
    }
}

/// Why a verdict was given: the numbers, in a sentence for the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    pub verdict: Verdict,
    pub text: String,
}

/// The most severe of the reasons; `valid` without any.
#[must_use]
pub fn verdict_of(reasons: &[Reason]) -> Verdict {
    reasons
        .iter()
        .map(|reason| reason.verdict)
        .max()
        .unwrap_or(Verdict::Valid)
}

/// The reasons of a cell, from the verdicts of its trials and the estimate of its goodput over them.
///
/// A cell is no better than its worst trial: leaving that one out would choose among results. `noisy` belongs to cells
/// alone: the full width of the interval, as a share of the point, is above `noisy_above`. Without an interval (a
/// single run) nothing is known about noise, which is a matter for the page and not a verdict.
#[must_use]
pub fn cell_reasons(
    trials: &[Verdict],
    goodput: Option<&Estimate>,
    noisy_above: f64,
) -> Vec<Reason> {
    let mut kinds: Vec<Verdict> = trials
        .iter()
        .copied()
        .filter(|verdict| *verdict != Verdict::Valid)
        .collect();
    kinds.sort_unstable_by(|a, b| b.cmp(a));
    kinds.dedup();
    let of_trials = kinds.into_iter().map(|verdict| {
        let count = trials.iter().filter(|trial| **trial == verdict).count();
        let text = if trials.len() == 1 {
            format!("the only trial is {}", verdict.name())
        } else {
            format!("{count} of {} trials: {}", trials.len(), verdict.name())
        };
        Reason { verdict, text }
    });
    let width = goodput
        .and_then(Estimate::relative_width)
        .filter(|width| *width > noisy_above);
    let noisy = width.map(|width| Reason {
        verdict: Verdict::Noisy,
        text: format!(
            "the 95 % interval of goodput is {} of its point wide; {} is allowed",
            percent(width),
            percent(noisy_above)
        ),
    });
    of_trials.chain(noisy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(trials: &[Verdict], interval: Option<(f64, f64)>, verdict: Verdict, texts: &[&str]) {
        let goodput = Estimate {
            point: 100.0,
            interval,
            count: trials.len(),
        };
        let reasons = cell_reasons(trials, Some(&goodput), 0.10);
        assert_eq!(verdict_of(&reasons), verdict, "{reasons:?}");
        assert_eq!(
            reasons
                .iter()
                .map(|reason| reason.text.as_str())
                .collect::<Vec<_>>(),
            texts
        );
    }

    #[test]
    fn a_cell_is_as_good_as_its_worst_trial() {
        use Verdict::{Failed, Incomplete, Noisy, Overloaded, Unsteady, Valid};
        check(&[], None, Valid, &[]);
        check(&[Valid], None, Valid, &[]);
        check(&[Valid; 5], Some((96.0, 104.0)), Valid, &[]);
        check(&[Valid; 5], Some((95.0, 105.0)), Valid, &[]);
        let wide = "the 95 % interval of goodput is 12 % of its point wide; 10 % is allowed";
        check(&[Valid; 5], Some((94.0, 106.0)), Noisy, &[wide]);
        check(&[Unsteady], None, Unsteady, &["the only trial is unsteady"]);
        check(
            &[Valid, Overloaded, Incomplete, Overloaded, Valid],
            Some((94.0, 106.0)),
            Incomplete,
            &[
                "1 of 5 trials: incomplete",
                "2 of 5 trials: overloaded",
                wide,
            ],
        );
        check(&[Failed, Valid], None, Failed, &["1 of 2 trials: failed"]);
        assert_eq!(cell_reasons(&[Valid; 3], None, 0.1), vec![]);
    }

    #[test]
    fn the_worst_reason_decides_whatever_the_order() {
        let reason = |verdict| Reason {
            verdict,
            text: String::new(),
        };
        let reasons = [
            Verdict::Overloaded,
            Verdict::Inconsistent,
            Verdict::Unsteady,
        ]
        .map(reason);
        assert_eq!(verdict_of(&reasons), Verdict::Inconsistent);
        assert!(
            Verdict::Noisy.counts_for_thresholds() && !Verdict::Unsteady.counts_for_thresholds()
        );
        assert!(Verdict::Valid.counts_for_recovery() && Verdict::Overloaded.counts_for_recovery());
        assert!(
            !Verdict::Incomplete.counts_for_recovery() && !Verdict::Failed.counts_for_recovery()
        );
    }
}
