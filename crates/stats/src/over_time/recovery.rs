//! When a system has recovered after the load drop.
//!
//! Judged by whole intervals: it has recovered when no more of them are bad than of the same load before the measured phase, the
//! control. Without a control, or if none was bad in it, that is the end of the last bad one. If the last interval of a trial is bad,
//! recovery takes longer than it was observed, and no number is made of that. A control that is bad itself is no reference. Reasons:
//! docs/design/0024-recovery.md.

use crate::arithmetic::sample::size;

/// Bad intervals that a system with the control's share of them has at most, in so many of a hundred cases.
const CONTROL_QUANTILE: f64 = 0.95;

/// Requests of one interval after the load drop.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AfterDrop {
    /// Since the load drop.
    pub start_s: f64,
    pub end_s: f64,
    pub succeeded: u64,
    pub failed: u64,
    /// Of the response times of those that succeeded; `None` without any.
    pub p99_us: Option<f64>,
    /// Whether something was pending at its end: an answer to a request that had fallen due, or a connection.
    pub waited: bool,
}

/// The recovery of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recovery {
    /// Seconds from the load drop to the end of the last bad interval; 0 if none was bad.
    After(f64),
    /// Not recovered within this many seconds, the time that was observed.
    NotWithin(f64),
    /// At least half of the control was bad, so nothing shows when the system was as before.
    NoReference,
}

/// What the control shows: intervals with the level of the recovery, before the system was overloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Control {
    pub bad: usize,
    /// Bad and good ones.
    pub intervals: usize,
}

impl Control {
    /// Counts the intervals of a control phase by the same rule as those after the load drop.
    #[must_use]
    pub fn from_intervals(intervals: &[AfterDrop], p99_us: f64) -> Self {
        let kinds = || intervals.iter().map(|interval| interval.kind(p99_us));
        Self {
            bad: kinds().filter(|kind| *kind == Kind::Bad).count(),
            intervals: kinds().filter(|kind| *kind != Kind::Quiet).count(),
        }
    }

    /// Whether more intervals were good than bad, or none was bad.
    #[must_use]
    pub fn is_reference(self) -> bool {
        self.bad == 0 || 2 * self.bad < self.intervals
    }

    /// How many of so many intervals may be bad in a system that is as it was.
    /// Of a control that is a reference.
    fn max_bad(self, intervals: usize) -> usize {
        if self.bad == 0 {
            return 0;
        }
        let share = size(self.bad) / size(self.intervals);
        // The quantile of the binomial distribution, term by term.
        let mut term = (1.0 - share).powf(size(intervals));
        let (mut allowed, mut sum) = (0, term);
        while sum < CONTROL_QUANTILE && allowed < intervals {
            term *= size(intervals - allowed) / size(allowed + 1) * share / (1.0 - share);
            sum += term;
            allowed += 1;
        }
        allowed
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Good,
    Bad,
    /// Nothing was asked.
    Quiet,
}

impl AfterDrop {
    fn kind(&self, p99_us: f64) -> Kind {
        let is_good =
            self.failed == 0 && self.succeeded > 0 && self.p99_us.is_some_and(|p99| p99 <= p99_us);
        if is_good {
            Kind::Good
        } else if self.failed + self.succeeded == 0 && !self.waited {
            Kind::Quiet
        } else {
            Kind::Bad
        }
    }
}

/// From the intervals after the load drop, in order, and the highest good p99 of the response time; `None` without intervals.
///
/// An interval is bad if a request failed, if its p99 was above `p99_us`, or if nothing was answered although something was
/// pending. One without due requests counts neither way. The bad intervals right after the load drop belong to the recovery,
/// whatever the control allows. If no interval was good, it has not recovered, whatever the control is.
#[must_use]
pub fn recovery(intervals: &[AfterDrop], p99_us: f64, control: Control) -> Option<Recovery> {
    let last = intervals.last()?;
    let kinds: Vec<Kind> = intervals
        .iter()
        .map(|interval| interval.kind(p99_us))
        .collect();
    let count =
        |from: usize, wanted: Kind| kinds[from..].iter().filter(|kind| **kind == wanted).count();
    let first_good = kinds.iter().position(|kind| *kind == Kind::Good);
    // It can have recovered at the start, and at the end of each bad interval.
    let starts = (0..kinds.len()).filter(|start| *start == 0 || kinds[start - 1] == Kind::Bad);
    let is_bad_at_once =
        |start: usize| kinds[start..].iter().find(|kind| **kind != Kind::Quiet) == Some(&Kind::Bad);
    let is_well = |start: &usize| {
        let (bad, good) = (count(*start, Kind::Bad), count(*start, Kind::Good));
        good > 0 && (bad == 0 || !is_bad_at_once(*start)) && bad <= control.max_bad(bad + good)
    };
    let ends_bad = kinds.iter().rev().find(|kind| **kind != Kind::Quiet) == Some(&Kind::Bad);
    if first_good.is_some() && !control.is_reference() {
        return Some(Recovery::NoReference);
    }
    let recovered = starts.filter(|_| first_good.is_some()).find(is_well);
    Some(match recovered {
        Some(start) if !ends_bad || control.bad > 0 => {
            Recovery::After(intervals[start].start_s.max(0.0))
        }
        _ => Recovery::NotWithin(last.end_s),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT_US: f64 = 250e3;

    /// Each letter is an interval of half a second: `x` good, `s` slow, `f` with a failure among its answers, `.` without an
    /// answer to a pending request, `-` with nothing to answer.
    fn intervals(letters: &str) -> Vec<AfterDrop> {
        letters
            .chars()
            .zip(0_u32..)
            .map(|(letter, index)| AfterDrop {
                start_s: 0.5 * f64::from(index),
                end_s: 0.5 * f64::from(index + 1),
                succeeded: if ".-".contains(letter) { 0 } else { 40 },
                failed: u64::from(letter == 'f'),
                p99_us: match letter {
                    '.' | '-' => None,
                    's' => Some(LIMIT_US + 1.0),
                    _ => Some(LIMIT_US),
                },
                waited: letter != '-',
            })
            .collect()
    }

    fn check(letters: &str, expected: Option<Recovery>) {
        assert_eq!(
            recovery(&intervals(letters), LIMIT_US, Control::default()),
            expected,
            "{letters}"
        );
    }

    #[test]
    fn it_has_recovered_at_the_end_of_the_last_bad_interval() {
        use Recovery::{After, NotWithin};
        check("", None);
        check("xxxx", Some(After(0.0)));
        check("sxxx", Some(After(0.5)));
        check("sf.x", Some(After(1.5)));
        // A relapse counts, however good it was in between.
        check("sxxxxxfx", Some(After(3.5)));
        check("xxxs", Some(NotWithin(2.0)));
        check("ssss", Some(NotWithin(2.0)));
        check("f", Some(NotWithin(0.5)));
    }

    #[test]
    fn an_interval_without_due_requests_counts_neither_way() {
        use Recovery::{After, NotWithin};
        check("s-x-x-", Some(After(0.5)));
        check("--xx", Some(After(0.0)));
        check("x--s-", Some(NotWithin(2.5)));
        check("s---", Some(NotWithin(2.0)));
        check("----", Some(NotWithin(2.0)));
    }

    /// One bad interval in a hundred at any time, such as those of a garbage collector: the system is well at once.
    #[test]
    fn bad_intervals_that_the_control_has_too_are_no_recovery() {
        let check = |letters: &str, control: &str, expected: Recovery| {
            let control = Control::from_intervals(&intervals(control), LIMIT_US);
            let outcome = recovery(&intervals(letters), LIMIT_US, control).unwrap();
            assert_eq!(outcome, expected, "{letters} {control:?}");
        };
        let good = "x".repeat(40);
        let pauses = format!("{good}s{good}");
        let control = format!("{good}s{good}{good}");
        check(&pauses, "", Recovery::After(20.5));
        check(&pauses, &good, Recovery::After(20.5));
        check(&pauses, &control, Recovery::After(0.0));
        // What is bad right after the drop is the recovery, and so is more than the control has.
        check(&format!("sss{pauses}"), &control, Recovery::After(1.5));
        check(&format!("xsxsxsxs{pauses}"), &control, Recovery::After(3.0));
        check(&"sx".repeat(40), &control, Recovery::After(39.5));
        check(&"xs".repeat(40), &control, Recovery::NotWithin(40.0));
        check(&format!("{good}s"), &control, Recovery::After(0.0));
        check("ssss", &control, Recovery::NotWithin(2.0));
    }

    #[test]
    fn a_control_that_is_bad_itself_is_no_reference() {
        let check = |control: &str, expected: Recovery| {
            let control = Control::from_intervals(&intervals(control), LIMIT_US);
            let outcome = recovery(&intervals("xxxx"), LIMIT_US, control);
            assert_eq!(outcome, Some(expected), "{control:?}");
            // One that stays bad has not recovered to anything.
            let outcome = recovery(&intervals("sf.-"), LIMIT_US, control);
            assert_eq!(outcome, Some(Recovery::NotWithin(2.0)), "{control:?}");
        };
        check("ssss", Recovery::NoReference);
        check("s---", Recovery::NoReference);
        check("sxsx", Recovery::NoReference);
        check("xsxx-", Recovery::After(0.0));
        check("----", Recovery::After(0.0));
    }

    #[test]
    fn an_interval_without_times_is_not_good() {
        let odd = AfterDrop {
            end_s: 1.0,
            succeeded: 3,
            ..AfterDrop::default()
        };
        assert_eq!(
            recovery(&[odd], LIMIT_US, Control::default()),
            Some(Recovery::NotWithin(1.0))
        );
    }

    proptest! {
        #[test]
        fn nothing_bad_comes_behind_it_and_something_bad_right_before(
            letters in "[xsf.-]{1,40}",
        ) {
            let all = intervals(&letters);
            let letter = |interval: &AfterDrop| {
                let index = all.iter().position(|candidate| candidate == interval).unwrap();
                letters.chars().nth(index).unwrap()
            };
            let is_bad = |interval: &AfterDrop| "sf.".contains(letter(interval));
            match recovery(&all, LIMIT_US, Control::default()).unwrap() {
                Recovery::After(time) => {
                    prop_assert!(!all.iter().any(|candidate| candidate.end_s > time && is_bad(candidate)));
                    prop_assert!(all.iter().any(|candidate| candidate.start_s >= time && letter(candidate) == 'x'));
                    prop_assert!(time == 0.0 || all.iter().any(|candidate| candidate.end_s == time && is_bad(candidate)));
                }
                Recovery::NotWithin(time) => {
                    prop_assert_eq!(time, all.last().unwrap().end_s);
                    let after_bad = letters.rfind(['s', 'f', '.']).map_or(0, |index| index + 1);
                    prop_assert!(!letters[after_bad..].contains('x'));
                }
                Recovery::NoReference => prop_assert!(false, "there is no control"),
            }
        }

        #[test]
        fn a_good_interval_more_at_the_end_never_makes_it_later(letters in "[xsf.-]{1,40}") {
            let (before, after) = (
                recovery(&intervals(&letters), LIMIT_US, Control::default()).unwrap(),
                recovery(&intervals(&format!("{letters}x")), LIMIT_US, Control::default()).unwrap(),
            );
            match (before, after) {
                (Recovery::After(before), Recovery::After(after)) => prop_assert_eq!(before, after),
                (Recovery::NotWithin(before), Recovery::After(after)) => prop_assert!(after <= before),
                other => prop_assert!(false, "its last interval is good: {other:?}"),
            }
        }
    }
}
