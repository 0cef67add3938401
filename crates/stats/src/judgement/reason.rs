//! Why a verdict was given, and how several reasons become one verdict.

use crate::{
    intervals::{estimate::Estimate, range::Bias},
    judgement::{
        doubt::Aspect,
        finding::{CellFinding, Finding, SystemFinding},
        verdict::Verdict,
    },
};

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

/// So many trials without a doubt are enough to believe a cell, however many others have one.
pub const CLEAN_TRIALS_MIN: usize = 3;

/// A metric that the study asks about, with what a cell has of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked {
    pub aspect: Aspect,
    /// `None`: it is exact, or there is none, or its width leaves nothing open.
    pub estimate: Option<Estimate>,
    /// Whether a doubt about it changes what is said of it. Of a metric that thresholds alone name it does not if they are decided
    /// all the same.
    pub is_open: bool,
    /// Whether the lag of the generator is more than the intervals hold already.
    pub is_open_by_lag: bool,
}

/// The reasons of a cell, from those of its trials and from the metrics that the study asks about.
///
/// Missing records and books that do not balance are facts: one trial shows them. A cell is overloaded if most of its trials are.
/// Everything else is a doubt, and a doubt counts if it changes what is said of a metric that is asked about, and if fewer than
/// [`CLEAN_TRIALS_MIN`] trials are free of doubts: more trials then never make a cell less believable. The estimates rest on all
/// trials all the same, because to leave out the bad ones would be to choose among results. How wide an interval is makes no verdict:
/// the interval says it. A change of level within a trial is none of the cell either: it widens the interval to both levels.
#[must_use]
pub fn cell_reasons(trials: &[&[Reason]], asked: &[Asked]) -> Vec<Reason> {
    // A single trial has no interval that could hold a change.
    let is_single = trials.len() == 1;
    let concerns = |reason: &Reason| is_single && is_change(reason) || concerns(reason, asked);
    let is_clean = |trial: &&&[Reason]| !trial.iter().any(concerns);
    let clean = trials.iter().filter(is_clean).count();
    let mut kinds: Vec<Verdict> = trials
        .iter()
        .flat_map(|trial| trial.iter().filter(|reason| concerns(reason)))
        .map(|reason| reason.verdict)
        .collect();
    kinds.sort_unstable_by(|a, b| b.cmp(a));
    kinds.dedup();
    let mut reasons = Vec::new();
    for verdict in kinds {
        let has_it = |trial: &&&[Reason]| {
            let mut reasons = trial.iter().filter(|reason| concerns(reason));
            reasons.any(|reason| reason.verdict == verdict)
        };
        let count = trials.iter().filter(has_it).count();
        let counts = match verdict {
            Verdict::Incomplete | Verdict::Inconsistent => true,
            Verdict::Overloaded => 2 * count > trials.len(),
            _ => clean < CLEAN_TRIALS_MIN,
        };
        let finding = CellFinding::Trials {
            verdict,
            count,
            trials: trials.len(),
        };
        if counts {
            reasons.push(Reason {
                verdict,
                finding: finding.into(),
            });
        }
    }
    reasons
}

fn is_change(reason: &Reason) -> bool {
    matches!(
        reason.finding,
        Finding::System(SystemFinding::Changed { .. })
    )
}

/// Whether a reason of a trial changes what is said of a metric that is asked about.
fn concerns(reason: &Reason, asked: &[Asked]) -> bool {
    let is_fact = matches!(
        reason.verdict,
        Verdict::Failed | Verdict::Incomplete | Verdict::Inconsistent | Verdict::Overloaded
    );
    is_fact || asked.iter().any(|asked| asked.is_changed_by(reason))
}

impl Asked {
    /// Whether a doubt of this reason changes what is said of the metric. A change of level is in its interval.
    #[must_use]
    pub fn is_changed_by(&self, reason: &Reason) -> bool {
        let is_open = |bias: Bias| match bias {
            Bias::ByLag => self.is_open_by_lag,
            Bias::Factor(_) => matches!(reason.finding, Finding::Cell(_)),
            Bias::AtMost | Bias::AtLeast | Bias::Unknown => true,
        };
        let mut doubts = reason.finding.doubts().into_iter();
        self.is_open && doubts.any(|doubt| doubt.aspect == self.aspect && is_open(doubt.bias))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::random::Random,
        judgement::finding::{AccountingFinding, Change, InstrumentFinding, Lag, LatenessFinding},
        over_time::steady::Series,
    };

    /// What each trial shows, by a letter: `v` valid, `u` unsteady, `p` with a probe that lags, `o` overloaded, `m` with missing
    /// records, `f` failed, `l` with a generator that was late, `c` with a change of level.
    fn trial(letter: char) -> Vec<Reason> {
        let (verdict, finding): (Verdict, Finding) = match letter {
            'v' => return Vec::new(),
            'u' => (Verdict::Unsteady, SystemFinding::NeverSteady.into()),
            'p' => (
                Verdict::InstrumentLimited,
                InstrumentFinding::ProbeLag {
                    lag_s: 2.0,
                    allowed_s: 1.0,
                }
                .into(),
            ),
            'o' => (
                Verdict::Overloaded,
                SystemFinding::Unanswered {
                    due: 10,
                    answered: 5,
                    answered_share: 0.5,
                    least_share: 0.99,
                    skipped: 0,
                }
                .into(),
            ),
            'm' => (
                Verdict::Incomplete,
                AccountingFinding::Missing {
                    missing: 1,
                    accepted: 10,
                    first_keys: vec![],
                    unread: false,
                }
                .into(),
            ),
            'f' => (Verdict::Failed, Finding::NothingSent),
            'l' => (
                Verdict::InstrumentLimited,
                LatenessFinding::Late {
                    lag: Lag {
                        p99_us: 20.0,
                        median_us: 100.0,
                        of_median: 0.2,
                    },
                    allowed_us: 10.0,
                    generator: None,
                }
                .into(),
            ),
            'c' => (
                Verdict::Unsteady,
                SystemFinding::Changed {
                    what: Series::P50,
                    from: 1.0,
                    to: 2.0,
                    how: Change::Drift,
                }
                .into(),
            ),
            other => panic!("{other}"),
        };
        vec![Reason { verdict, finding }]
    }

    fn reasons(letters: &str, asked: &[Asked]) -> Vec<Reason> {
        let trials: Vec<Vec<Reason>> = letters.chars().map(trial).collect();
        let trials: Vec<&[Reason]> = trials.iter().map(Vec::as_slice).collect();
        cell_reasons(&trials, asked)
    }

    fn asked_metric(aspect: Aspect, interval: Option<(f64, f64)>) -> Asked {
        Asked {
            is_open: true,
            is_open_by_lag: true,
            aspect,
            estimate: Some(Estimate {
                point: 100.0,
                interval,
                count: 3,
                least: None,
            }),
        }
    }

    /// The verdict of a cell whose goodput is asked about, and how many of its trials have which.
    fn check(letters: &str, verdict: Verdict, of_trials: &[(usize, Verdict)]) {
        let actual = reasons(
            letters,
            &[asked_metric(Aspect::Goodput, Some((98.0, 102.0)))],
        );
        assert_eq!(verdict_of(&actual), verdict, "{letters}: {actual:?}");
        let counts = actual.iter().map(|reason| match &reason.finding {
            Finding::Cell(CellFinding::Trials { verdict, count, .. }) => (*count, *verdict),
            other => panic!("{other:?}"),
        });
        assert_eq!(counts.collect::<Vec<_>>(), of_trials, "{letters}");
    }

    #[test]
    fn three_trials_without_a_doubt_are_enough() {
        use Verdict::{Failed, Incomplete, Overloaded, Unsteady, Valid};
        check("", Valid, &[]);
        check("v", Valid, &[]);
        check("vvv", Valid, &[]);
        check("u", Unsteady, &[(1, Unsteady)]);
        check("vvu", Unsteady, &[(1, Unsteady)]);
        check("vvuv", Valid, &[]);
        check("uvuvv", Valid, &[]);
        check("fvv", Failed, &[(1, Failed)]);
        check("fvvv", Valid, &[]);
        // A late probe says nothing of the goodput.
        check("ppp", Valid, &[]);
        // One trial shows that records are missing; most must show that the system does not keep up.
        check("vvvm", Incomplete, &[(1, Incomplete)]);
        check("vvvo", Valid, &[]);
        check("vooo", Overloaded, &[(3, Overloaded)]);
        check("mou", Incomplete, &[(1, Incomplete), (1, Unsteady)]);
    }

    #[test]
    fn a_doubt_counts_for_the_metric_that_it_concerns() {
        let delays = [asked_metric(Aspect::Delivery, None)];
        assert_eq!(
            verdict_of(&reasons("vpp", &delays)),
            Verdict::InstrumentLimited
        );
        assert_eq!(verdict_of(&reasons("vuu", &delays)), Verdict::Valid);
        assert_eq!(verdict_of(&reasons("vvvpp", &delays)), Verdict::Valid);
    }

    #[test]
    fn a_doubt_that_changes_nothing_is_no_verdict() {
        let times = |is_open, is_open_by_lag| Asked {
            is_open,
            is_open_by_lag,
            ..asked_metric(Aspect::Times, Some((10.0, 1_000.0)))
        };
        let check = |letters: &str, asked: Asked, expected: Verdict| {
            assert_eq!(
                verdict_of(&reasons(letters, &[asked])),
                expected,
                "{asked:?}"
            );
        };
        // Thresholds are decided all the same.
        check("uuu", times(false, true), Verdict::Valid);
        check("uuu", times(true, true), Verdict::Unsteady);
        // The interval holds the lag.
        check("lll", times(true, false), Verdict::Valid);
        check("lll", times(true, true), Verdict::InstrumentLimited);
        // It holds both levels.
        check("ccc", times(true, true), Verdict::Valid);
        check("c", times(true, true), Verdict::Unsteady);
    }

    #[test]
    fn more_trials_never_make_a_cell_less_believable() {
        for doubtful in [0.05, 0.25, 0.5] {
            let believed = |trials: usize| -> usize {
                let is_believed = |seed: &u64| {
                    let mut random = Random::from_seed(*seed);
                    let letters: String = (0..trials)
                        .map(|_| if random.unit() < doubtful { 'u' } else { 'v' })
                        .collect();
                    verdict_of(&reasons(&letters, &[asked_metric(Aspect::Goodput, None)]))
                        == Verdict::Valid
                };
                (0..1_000).filter(is_believed).count()
            };
            // Each sample of n trials begins with that of n − 1, so that the counts can be compared exactly.
            let counts: Vec<usize> = (3..=10).map(believed).collect();
            assert!(counts.is_sorted(), "{doubtful}: {counts:?}");
            assert!(counts[7] > 900, "{doubtful}: {counts:?}");
        }
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
    }
}
