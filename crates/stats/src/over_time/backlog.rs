//! Whether work piles up: arrivals run away from completions.
//!
//! One test for two cases: records accepted against records visible in the store; requests due against requests answered.

use crate::arithmetic::sample::{Line, size};

/// With fewer polls than this nothing is said of a trend.
pub const MIN_BACKLOG_POLLS: usize = 3;
/// With fewer than this a trend cannot be tested; a backlog that rises at every poll, by a large share, is then one that grows.
const TESTED_POLLS: usize = 5;
const LARGE_SHARE: f64 = 0.10;
/// A backlog grows if at least this share of the arrivals is left undone; below it a wave looks the same.
const SHARE_MIN: f64 = 0.02;
/// How often a backlog without a trend may be called growing.
const FALSE_ALARMS: f64 = 0.01;

/// A backlog that grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Slope of the line through all polls.
    pub per_s: f64,
    /// Arrivals per second, over the same time.
    pub asked_per_s: f64,
    /// Backlog at the first and at the last poll, by the same line.
    pub from: f64,
    pub to: f64,
}

/// Tests whether `asked − done` grows, from running totals at the same instants. Slices of unequal length are cut to the
/// shortest.
#[must_use]
pub fn backlog_grows(at_s: &[f64], asked: &[f64], done: &[f64]) -> Option<Growth> {
    let count = at_s.len().min(asked.len()).min(done.len());
    if count < MIN_BACKLOG_POLLS {
        return None;
    }
    let (at_s, asked, done) = (&at_s[..count], &asked[..count], &done[..count]);
    let backlog: Vec<f64> = asked
        .iter()
        .zip(done)
        .map(|(asked, done)| asked - done)
        .collect();
    let line = Line::fit(at_s, &backlog)?;
    let asked_per_s = (asked[count - 1] - asked[0]) / (at_s[count - 1] - at_s[0]);
    let growth = Growth {
        per_s: line.slope,
        asked_per_s,
        from: line.value_at(at_s[0]),
        to: line.value_at(at_s[count - 1]),
    };
    // A wave that happens to end high has a slope too: the last third must be above the first as well.
    let third = count / 3;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / size(values.len());
    let risen = mean(&backlog[count - third..]) - mean(&backlog[..third]);
    let asked_total = asked[count - 1] - asked[0];
    if count < TESTED_POLLS {
        let rises = backlog.windows(2).all(|pair| pair[1] > pair[0]);
        let risen = backlog[count - 1] - backlog[0];
        return (asked_total > 0.0 && rises && risen >= LARGE_SHARE * asked_total)
            .then_some(growth);
    }
    let grows = asked_per_s > 0.0
        && growth.per_s >= SHARE_MIN * asked_per_s
        && risen >= SHARE_MIN * asked_total / 2.0
        && line.slope_p_value(0.0) <= FALSE_ALARMS;
    grows.then_some(growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::random::Random;

    const POLLS: u32 = 30;

    /// 1,000/s arrive, polled every 100 ms; `done` says how many are done at a time.
    fn check(what: &str, done: impl Fn(f64) -> f64, expected: bool) {
        let at_s: Vec<f64> = (0..POLLS).map(|poll| f64::from(poll) / 10.0).collect();
        let asked: Vec<f64> = at_s.iter().map(|time| 1_000.0 * time).collect();
        let done: Vec<f64> = at_s.iter().map(|time| done(*time)).collect();
        let growth = backlog_grows(&at_s, &asked, &done);
        assert_eq!(growth.is_some(), expected, "{what}: {growth:?}");
    }

    #[test]
    fn growth_is_distinguished_from_a_wave() {
        check("keeps up", |time| 1_000.0 * time, false);
        check("a constant delay", |time| 1_000.0 * (time - 0.2), false);
        check(
            "flushes every 0.7 s",
            |time| 1_000.0 * (time / 0.7).floor() * 0.7,
            false,
        );
        check(
            "flushes every 2 s",
            |time| 1_000.0 * (time / 2.0).floor() * 2.0,
            false,
        );
        check("one percent slower", |time| 990.0 * time, false);
        check("five percent slower", |time| 950.0 * time, true);
        check("half as fast", |time| 500.0 * time, true);
        check("never", |_| 0.0, true);
        check("stops in the middle", |time| 1_000.0 * time.min(1.5), true);
        check(
            "catches up",
            |time| 1_000.0 * time - 300.0 * (3.0 - time),
            false,
        );
    }

    #[test]
    fn the_numbers_of_the_growth_are_named() {
        let at_s = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let asked = at_s.map(|time| 200.0 * time);
        let done = at_s.map(|time| 150.0 * time);
        let growth = backlog_grows(&at_s, &asked, &done).unwrap();
        assert!((growth.per_s - 50.0).abs() < 1e-9 && (growth.asked_per_s - 200.0).abs() < 1e-9);
        assert!((growth.to - 250.0).abs() < 1e-9 && growth.from.abs() < 1e-9);
    }

    #[test]
    fn few_polls_and_no_load_give_no_result() {
        assert_eq!(backlog_grows(&[0.0, 1.0], &[0.0, 10.0], &[0.0, 0.0]), None);
        // Four polls: half of what arrives is left, a twentieth is, and the last poll finds less than the one before.
        let at_s = [0.0, 1.0, 2.0, 3.0];
        let asked = at_s.map(|time| 1_000.0 * time);
        let grows = |done: [f64; 4]| backlog_grows(&at_s, &asked, &done).is_some();
        assert!(grows([0.0, 500.0, 1_000.0, 1_500.0]));
        assert!(!grows([0.0, 950.0, 1_900.0, 2_850.0]));
        assert!(!grows([0.0, 500.0, 1_000.0, 2_400.0]));
        assert_eq!(backlog_grows(&[0.0; 8], &[0.0; 8], &[0.0; 8]), None);
        assert_eq!(backlog_grows(&[], &[], &[]), None);
    }

    #[test]
    fn waiting_that_only_varies_is_rarely_called_growing() {
        let flagged = (0..1_000_u64).filter(|seed| {
            let mut random = Random::from_seed(*seed);
            let at_s: Vec<f64> = (0..POLLS).map(f64::from).collect();
            let asked: Vec<f64> = at_s.iter().map(|time| 1_000.0 * time + 500.0).collect();
            let done: Vec<f64> = asked
                .iter()
                .map(|asked| asked - random.lognormal(200.0, 0.5))
                .collect();
            backlog_grows(&at_s, &asked, &done).is_some()
        });
        assert!(flagged.count() <= 20);
    }
}
