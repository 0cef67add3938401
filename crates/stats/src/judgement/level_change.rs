//! A change of level within a measured phase, as what it means for a mean over that phase: the system's own value is that of one of
//! the two levels, and the mean only says how long each of them lasted.

use crate::{
    judgement::{
        doubt::{Aspect, level_aspects},
        finding::{Change, Finding, SystemFinding},
        reason::Reason,
    },
    over_time::steady::Series,
};

/// How much of a phase the shorter level takes at least: less of it cannot be found.
const SHARE_MIN: f64 = 0.05;

/// A change of level of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// What changed.
    pub series: Series,
    /// The second level ÷ the first; above 0.
    pub ratio: f64,
    /// The share of the phase at the first level.
    pub share_before: f64,
}

impl LevelChange {
    /// The change that the reasons of a trial with a measured phase of so many seconds name; `None` without one, and if a level is 0.
    #[must_use]
    pub fn from_reasons(reasons: &[Reason], seconds: f64) -> Option<Self> {
        let mut findings = reasons.iter().map(|reason| &reason.finding);
        findings.find_map(|finding| Self::from_finding(finding, seconds))
    }

    fn from_finding(finding: &Finding, seconds: f64) -> Option<Self> {
        match finding {
            Finding::System(SystemFinding::Changed {
                what,
                from,
                to,
                how,
            }) => Self::new(*what, to / from, *how, seconds),
            _ => None,
        }
    }

    fn new(series: Series, ratio: f64, how: Change, seconds: f64) -> Option<Self> {
        let share_before = match how {
            Change::Step { at_s } if seconds > 0.0 => at_s / seconds,
            // A line from one level to the other is at their mean in the middle.
            Change::Step { .. } | Change::Drift => 0.5,
        };
        (ratio.is_finite() && ratio > 0.0).then_some(Self {
            series,
            ratio,
            share_before: share_before.clamp(SHARE_MIN, 1.0 - SHARE_MIN),
        })
    }

    /// Whether metrics of this kind change with it.
    #[must_use]
    pub fn concerns(&self, aspect: Aspect) -> bool {
        level_aspects(self.series).contains(&aspect)
    }

    /// The lower and the higher level of a metric with this mean over the phase. Times and the cost of a request fall if throughput
    /// rises, so what is no throughput may have changed either way.
    #[must_use]
    pub fn levels(&self, mean: f64, is_own_series: bool) -> (f64, f64) {
        let of_ratio = |ratio: f64| {
            let first = mean / (self.share_before + (1.0 - self.share_before) * ratio);
            let second = first * ratio;
            (first.min(second), first.max(second))
        };
        let levels = of_ratio(self.ratio);
        if is_own_series {
            return levels;
        }
        let inverse = of_ratio(1.0 / self.ratio);
        (levels.0.min(inverse.0), levels.1.max(inverse.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::verdict::Verdict;

    fn change(from: f64, to: f64, how: Change) -> Option<LevelChange> {
        let reason = Reason {
            verdict: Verdict::Unsteady,
            finding: SystemFinding::Changed {
                what: Series::Throughput,
                from,
                to,
                how,
            }
            .into(),
        };
        LevelChange::from_reasons(&[reason], 10.0)
    }

    #[test]
    fn a_mean_is_between_its_two_levels() {
        let check = |from: f64, to: f64, at_s: f64| {
            let level_change = change(from, to, Change::Step { at_s }).unwrap();
            let share = at_s / 10.0;
            let (low, high) = level_change.levels(share * from + (1.0 - share) * to, true);
            assert!((low - from.min(to)).abs() < 1e-9, "{from} {to}: {low}");
            assert!((high - from.max(to)).abs() < 1e-9, "{from} {to}: {high}");
        };
        check(60.0, 36.0, 5.0);
        check(60.0, 36.0, 2.0);
        check(20.0, 65.0, 8.0);
        check(7.0, 7.0, 5.0);
    }

    #[test]
    fn a_cost_may_change_either_way() {
        let level_change = change(2.0, 1.0, Change::Drift).unwrap();
        let (low, high) = level_change.levels(3.0, false);
        assert!((low - 2.0).abs() < 1e-12 && (high - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_level_of_nothing_has_no_ratio() {
        assert_eq!(change(0.0, 4.0, Change::Drift), None);
        assert_eq!(change(4.0, 0.0, Change::Drift), None);
        assert_eq!(LevelChange::from_reasons(&[], 10.0), None);
    }
}
