//! Whether two groups of trials differ by more than a margin, or are the same within it, and how many trials would decide that.
//!
//! Both are read off one 95 % interval of the ratio: all of it outside the margin, or all of it within (two one-sided tests at 2.5 %
//! each: Schuirmann, 1987; Chow, Shao and Wang, Sample Size Calculations in Clinical Research, chapter 3).

use crate::{
    arithmetic::student::two_sided,
    intervals::{
        contrast::{Contrast, Sample, Sum},
        estimate::{Estimate, log_contrast, ratio_interval},
        trials_needed::{Aim, INTERVAL_TAIL, TrialsNeeded, trials_needed},
    },
};

/// A ratio of two groups, tested against a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginTest {
    /// `new ÷ old`, with its 95 % interval.
    pub estimate: Estimate,
    /// How often groups that differ by the margin, or less, show at least so much; `None` without an interval.
    pub p_value: Option<f64>,
    /// Compared repetition by repetition.
    pub is_paired: bool,
    /// Trials of each group that decide in nine of ten cases, if the true ratio is the observed one; `None`: more than
    /// [`MAX_TRIALS_NEEDED`](crate::intervals::trials_needed::MAX_TRIALS_NEEDED), or not known.
    pub trials_needed: Option<TrialsNeeded>,
    /// The values are known only to within ranges, and by these alone the ratio may lie within the margin or outside: more trials
    /// do not decide that.
    pub is_open_by_range: bool,
}

/// Tests the ratio of two groups, which share no trial, of a metric with this resolution (0: not known), against a margin: ratios
/// from `1 ÷ (1 + margin)` to `1 + margin` count as the same. `None` if a group is empty, a value is below zero or not finite, or
/// `old` is nothing but 0.
#[must_use]
pub fn compare_with_margin(
    new: &[Sample],
    old: &[Sample],
    resolution: f64,
    margin: f64,
) -> Option<MarginTest> {
    let (contrast, levels) = log_contrast(new, old, resolution)?;
    let interval = ratio_interval(&contrast, levels, resolution);
    let estimate = Estimate::of_contrast(&contrast, interval, new.len() + old.len())?;
    let limit = margin.ln_1p();
    let counts = (new.len(), old.len());
    let is_open_by_range = is_open_by_range(&contrast, limit);
    let near = contrast.sum.value.abs();
    let aim = Aim {
        distance: (limit - near).abs(),
        tail: INTERVAL_TAIL,
        // Near equality both ends of the interval have to lie within.
        has_two_ends: near < limit / 4.0,
    };
    let needed = trials_needed(&contrast, counts, aim);
    Some(MarginTest {
        p_value: estimate
            .interval
            .and_then(|ends| p_value(&contrast, limit, ends)),
        trials_needed: needed.filter(|_| !is_open_by_range),
        is_open_by_range,
        estimate,
        is_paired: contrast.is_paired(),
    })
}

/// Whether the ends of the ranges of the values lie on both sides of an end of the margin.
fn is_open_by_range(contrast: &Contrast, limit: f64) -> bool {
    let (least, most) = (contrast.ends.0.value, contrast.ends.1.value);
    let is_within = least >= -limit && most <= limit;
    let is_outside = least > limit || most < -limit;
    least < most && !is_within && !is_outside
}

/// Of the scatter, whatever the values are in their ranges; 1 if only the resolution or the ranges leave open that the ratio lies
/// within the limit.
fn p_value(contrast: &Contrast, limit: f64, (low, high): (f64, f64)) -> Option<f64> {
    let is_beyond = |(low, high): (f64, f64)| low > limit || high < -limit;
    let (least, most) = contrast.ends;
    let sums = [least, contrast.sum, most].map(|sum| tail_probability(&sum, limit));
    let by_scatter = sums
        .into_iter()
        .try_fold(0.0, |p_value: f64, probability| {
            Some(p_value.max(probability?))
        })?;
    let is_open = !is_beyond((low.ln(), high.ln()));
    let is_different = contrast.sum.interval().is_some_and(is_beyond);
    Some(if is_open && is_different {
        1.0
    } else {
        by_scatter
    })
}

/// The chance of a sum this far beyond the limit on either side.
fn tail_probability(sum: &Sum, limit: f64) -> Option<f64> {
    let (error, degrees) = sum.error?;
    let (near, far) = (sum.value.abs() - limit, sum.value.abs() + limit);
    Some(if error <= 0.0 {
        f64::from(near <= 0.0)
    } else {
        let near = two_sided(near.max(0.0) / error, degrees);
        f64::midpoint(near, two_sided(far / error, degrees))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::{random::Random, sample::size};

    const SEEDS: u64 = 1_000;

    struct Pair {
        new: Vec<Sample>,
        old: Vec<Sample>,
    }

    fn pair(random: &mut Random, count: usize, ratio: f64, (spread, drift): (f64, f64)) -> Pair {
        let mut pair = Pair {
            new: Vec::new(),
            old: Vec::new(),
        };
        for repetition in (1..).take(count) {
            let host = random.lognormal(1_000.0, drift);
            let mut sample = |level| Sample::exact(repetition, random.lognormal(level, spread));
            pair.new.push(sample(host * ratio));
            pair.old.push(sample(host));
        }
        pair
    }

    fn test(pair: &Pair, margin: f64) -> MarginTest {
        compare_with_margin(&pair.new, &pair.old, 0.0, margin).unwrap()
    }

    fn is_decided(test: &MarginTest, margin: f64) -> bool {
        is_same(test, margin) || is_different(test, margin)
    }

    fn is_same(test: &MarginTest, margin: f64) -> bool {
        let (low, high) = test.estimate.interval.unwrap();
        low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin
    }

    fn is_different(test: &MarginTest, margin: f64) -> bool {
        let (low, high) = test.estimate.interval.unwrap();
        high < 1.0 / (1.0 + margin) || low > 1.0 + margin
    }

    fn share(condition: impl Fn(&mut Random) -> bool) -> f64 {
        let hits = (0..SEEDS).filter(|seed| condition(&mut Random::from_seed(*seed)));
        size(hits.count()) / 1_000.0
    }

    #[test]
    fn equal_groups_are_rarely_different_and_groups_at_the_margin_rarely_the_same() {
        let check = |count: usize, ratio: f64, margin: f64| {
            let different = share(|random| {
                let pair = pair(random, count, ratio, (0.03, 0.2));
                is_different(&test(&pair, margin), margin)
            });
            // Of 1,000 samples a rate of 5 % shows as up to 6.4 % in one case of forty.
            let limit = if margin == 0.0 { 0.064 } else { 0.035 };
            assert!(different <= limit, "{count} {ratio} {margin}: {different}");
            let same = share(|random| {
                let pair = pair(random, count, ratio, (0.03, 0.2));
                is_same(&test(&pair, margin), margin)
            });
            assert!(ratio == 1.0 || same <= 0.035, "{count} {ratio}: {same}");
        };
        for count in [3, 5, 8] {
            check(count, 1.0, 0.0);
            check(count, 1.0, 0.02);
            check(count, 1.02, 0.02);
            check(count, 1.0 / 1.05, 0.05);
        }
    }

    #[test]
    fn the_p_value_agrees_with_the_interval() {
        for seed in 0..500 {
            let pair = pair(&mut Random::from_seed(seed), 4, 1.04, (0.03, 0.0));
            for margin in [0.0, 0.02] {
                let outcome = test(&pair, margin);
                let p_value = outcome.p_value.unwrap();
                if is_different(&outcome, margin) {
                    assert!(p_value <= 0.05, "{seed} {margin} {outcome:?}");
                } else {
                    assert!(p_value > 0.025, "{seed} {margin} {outcome:?}");
                }
            }
        }
    }

    /// Of pairs that are undecided: how often another experiment decides whose true ratio is the observed one, with the larger and with
    /// the smaller number of trials; and how often the number that the true scatter needs lies between the two.
    #[test]
    fn the_number_of_trials_is_a_range() {
        let check = |count: usize, ratio: f64, margin: f64, spread: f64| {
            let (mut open, mut by_most, mut by_least) = (0_usize, 0_usize, 0_usize);
            for seed in 0..SEEDS {
                let mut random = Random::from_seed(seed);
                let outcome = test(&pair(&mut random, count, ratio, (spread, 0.0)), margin);
                let needed = outcome
                    .trials_needed
                    .filter(|_| !is_decided(&outcome, margin));
                let Some((least, most)) = needed.and_then(|range| Some((range.least, range.most?)))
                else {
                    continue;
                };
                assert!(count < least && least <= most, "{least} {most}");
                open += 1;
                let mut decides = |count| {
                    let again = pair(&mut random, count, outcome.estimate.point, (spread, 0.0));
                    usize::from(is_decided(&test(&again, margin), margin))
                };
                by_most += decides(most);
                by_least += decides(least);
            }
            let (most, least) = (size(by_most) / size(open), size(by_least) / size(open));
            let what = format!("{count} {ratio} {margin}: {most} {least} of {open}");
            assert!(open >= 10 && most >= 0.88 && least <= most, "{what}");
        };
        for count in [3, 4, 5, 8] {
            check(count, 1.0, 0.05, 0.03);
            check(count, 1.1, 0.02, 0.03);
            check(count, 1.08, 0.05, 0.04);
        }
    }

    #[test]
    fn by_hand() {
        let samples = |values: &[f64]| -> Vec<Sample> {
            (1..)
                .zip(values)
                .map(|(repetition, &value)| Sample::exact(repetition, value))
                .collect()
        };
        let check = |new: &[f64], old: &[f64], expected: Option<(f64, bool)>| {
            let outcome = compare_with_margin(&samples(new), &samples(old), 0.0, 0.05);
            let outcome = outcome
                .map(|outcome| (outcome.estimate.point, outcome.estimate.interval.is_some()));
            assert_eq!(outcome, expected, "{new:?} {old:?}");
        };
        check(&[2.0, 2.0], &[1.0, 1.0], Some((2.0, true)));
        check(&[2.0], &[1.0], Some((2.0, false)));
        check(&[], &[1.0], None);
        check(&[1.0], &[0.0], None);
        // One side scatters by a factor of three.
        let wide = compare_with_margin(&samples(&[1.0, 3.0]), &samples(&[1.0, 1.0]), 0.0, 0.5);
        let needed = wide.unwrap().trials_needed.unwrap();
        assert_eq!((needed.least, needed.most), (117, None));
    }
}
