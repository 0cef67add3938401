//! When a system has recovered after the load drop.
//!
//! Judged by whole intervals: it has recovered at the end of the last bad one. If the last interval of a trial is bad, recovery
//! takes longer than it was observed, and no number is made of that. Reasons: docs/design/0024-recovery.md.

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
}

/// From the intervals after the load drop, in order, and the highest good p99 of the response time; `None` without intervals.
///
/// An interval is bad if a request failed, if its p99 was above `p99_us`, or if nothing was answered although something was
/// pending. One without due requests counts neither way.
#[must_use]
pub fn recovery(intervals: &[AfterDrop], p99_us: f64) -> Option<Recovery> {
    let last = intervals.last()?;
    let is_good = |interval: &AfterDrop| {
        interval.failed == 0
            && interval.succeeded > 0
            && interval.p99_us.is_some_and(|p99| p99 <= p99_us)
    };
    let is_quiet =
        |interval: &AfterDrop| interval.failed + interval.succeeded == 0 && !interval.waited;
    let bad = intervals
        .iter()
        .rposition(|interval| !is_good(interval) && !is_quiet(interval));
    let rest = &intervals[bad.map_or(0, |bad| bad + 1)..];
    Some(match rest.first() {
        Some(first) if rest.iter().any(is_good) => Recovery::After(first.start_s.max(0.0)),
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
            recovery(&intervals(letters), LIMIT_US),
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

    #[test]
    fn an_interval_without_times_is_not_good() {
        let odd = AfterDrop {
            end_s: 1.0,
            succeeded: 3,
            ..AfterDrop::default()
        };
        assert_eq!(recovery(&[odd], LIMIT_US), Some(Recovery::NotWithin(1.0)));
    }

    proptest! {
        #[test]
        fn nothing_bad_comes_behind_it_and_something_bad_right_before(
            letters in "[xsf.-]{1,40}",
        ) {
            let all = intervals(&letters);
            let letter = |interval: &AfterDrop| {
                let index = all.iter().position(|one| one == interval).unwrap();
                letters.chars().nth(index).unwrap()
            };
            let is_bad = |interval: &AfterDrop| "sf.".contains(letter(interval));
            match recovery(&all, LIMIT_US).unwrap() {
                Recovery::After(at) => {
                    prop_assert!(!all.iter().any(|one| one.end_s > at && is_bad(one)));
                    prop_assert!(all.iter().any(|one| one.start_s >= at && letter(one) == 'x'));
                    prop_assert!(at == 0.0 || all.iter().any(|one| one.end_s == at && is_bad(one)));
                }
                Recovery::NotWithin(at) => {
                    prop_assert_eq!(at, all.last().unwrap().end_s);
                    let after_bad = letters.rfind(['s', 'f', '.']).map_or(0, |index| index + 1);
                    prop_assert!(!letters[after_bad..].contains('x'));
                }
            }
        }

        #[test]
        fn a_good_interval_more_at_the_end_never_makes_it_later(letters in "[xsf.-]{1,40}") {
            let (before, after) = (
                recovery(&intervals(&letters), LIMIT_US).unwrap(),
                recovery(&intervals(&format!("{letters}x")), LIMIT_US).unwrap(),
            );
            match (before, after) {
                (Recovery::After(before), Recovery::After(after)) => prop_assert_eq!(before, after),
                (Recovery::NotWithin(before), Recovery::After(after)) => prop_assert!(after <= before),
                (_, Recovery::NotWithin(_)) => prop_assert!(false, "its last interval is good"),
            }
        }
    }
}
