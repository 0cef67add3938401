//! Why a verdict was given, and how several reasons become one verdict.

use crate::{CellFinding, Estimate, Finding, Verdict};

/// Why a verdict was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    pub verdict: Verdict,
    pub finding: Finding,
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
/// A cell is no better than its worst trial: to leave that one out would be to choose among results. `noisy` belongs to cells
/// alone: the full width of the interval, as a share of the point, is above `max_ci_width`. Without an interval (a single trial)
/// nothing is known about noise: the page says so, and it is no verdict.
#[must_use]
pub fn cell_reasons(
    trials: &[Verdict],
    goodput: Option<&Estimate>,
    max_ci_width: f64,
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
        let finding = CellFinding::Trials {
            verdict,
            count,
            trials: trials.len(),
        };
        Reason {
            verdict,
            finding: finding.into(),
        }
    });
    let width = goodput
        .and_then(Estimate::relative_width)
        .filter(|width| *width > max_ci_width);
    let noisy = width.map(|width| Reason {
        verdict: Verdict::Noisy,
        finding: CellFinding::Wide {
            width,
            allowed: max_ci_width,
        }
        .into(),
    });
    of_trials.chain(noisy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict of a cell, how many of its trials have which, and whether its interval is too wide.
    fn check(
        trials: &[Verdict],
        interval: Option<(f64, f64)>,
        verdict: Verdict,
        of_trials: &[(usize, Verdict)],
        is_wide: bool,
    ) {
        let goodput = Estimate {
            point: 100.0,
            interval,
            count: trials.len(),
        };
        let reasons = cell_reasons(trials, Some(&goodput), 0.10);
        assert_eq!(verdict_of(&reasons), verdict, "{reasons:?}");
        let mut found: Vec<(usize, Verdict)> = Vec::new();
        let mut wide = Vec::new();
        for reason in &reasons {
            match &reason.finding {
                Finding::Cell(CellFinding::Trials { verdict, count, .. }) => {
                    found.push((*count, *verdict));
                }
                Finding::Cell(CellFinding::Wide { width, .. }) => wide.push(*width),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found, of_trials);
        assert_eq!(!wide.is_empty(), is_wide);
        assert!(wide.iter().all(|width| (width - 0.12).abs() < 1e-9));
    }

    #[test]
    fn a_cell_is_as_good_as_its_worst_trial() {
        use Verdict::{Failed, Incomplete, Noisy, Overloaded, Unsteady, Valid};
        check(&[], None, Valid, &[], false);
        check(&[Valid], None, Valid, &[], false);
        check(&[Valid; 5], Some((96.0, 104.0)), Valid, &[], false);
        check(&[Valid; 5], Some((95.0, 105.0)), Valid, &[], false);
        check(&[Valid; 5], Some((94.0, 106.0)), Noisy, &[], true);
        check(&[Unsteady], None, Unsteady, &[(1, Unsteady)], false);
        check(
            &[Valid, Overloaded, Incomplete, Overloaded, Valid],
            Some((94.0, 106.0)),
            Incomplete,
            &[(1, Incomplete), (2, Overloaded)],
            true,
        );
        check(&[Failed, Valid], None, Failed, &[(1, Failed)], false);
        assert_eq!(cell_reasons(&[Valid; 3], None, 0.1), vec![]);
    }

    #[test]
    fn the_worst_reason_decides_in_any_order() {
        let reason = |verdict| Reason {
            verdict,
            finding: Finding::NothingSent,
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
