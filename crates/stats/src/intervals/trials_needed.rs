//! How many trials would show what these do not: a range, because few trials know their own scatter to within a factor only.

use crate::{
    arithmetic::{
        sample::size,
        student::{critical, critical_95},
    },
    intervals::{
        contrast::{Contrast, Sample},
        estimate::log_contrast,
    },
};

/// Quantiles of the normal distribution: of the chance to decide with a number of trials, 90 %, on one side or on both.
const POWER: f64 = 1.281_551_565_544_6;
const POWER_OF_BOTH: f64 = 1.644_853_626_951_5;
/// The scatter is taken as small and as large as it is in one of ten cases each.
const SCATTER: f64 = 1.281_551_565_544_6;
/// What a 95 % interval leaves out.
pub(crate) const INTERVAL_TAIL: f64 = 0.05;
/// More trials than this are run in no practice, and no number of them is given.
pub const MAX_TRIALS_NEEDED: usize = 200;

/// Trials of each group that decide in nine of ten cases, if the true ratio is the observed one: for the scatter that is exceeded in nine
/// of ten cases, and for that which is exceeded in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialsNeeded {
    pub least: usize,
    /// `None`: more than [`MAX_TRIALS_NEEDED`].
    pub most: Option<usize>,
}

impl TrialsNeeded {
    /// So many that both are decided.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self
                .most
                .zip(other.most)
                .map(|(count, other)| count.max(other)),
        }
    }
}

/// What more trials are to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim {
    /// From the observed value to what the interval has to leave out, on the log scale.
    pub(crate) distance: f64,
    /// What the interval leaves out, on both sides together.
    pub(crate) tail: f64,
    /// Both ends of the interval have to stay that far away.
    pub(crate) has_two_ends: bool,
}

impl Aim {
    /// Whether so many trials of each group decide, if one of them has this variance.
    fn is_reached(&self, count: usize, variance: f64, is_paired: bool) -> bool {
        let degrees = match is_paired {
            true => size(count - 1),
            false => 2.0 * size(count - 1),
        };
        let error = (variance / size(count)).sqrt();
        let off = match self.tail == INTERVAL_TAIL {
            true => critical_95(degrees),
            false => critical(self.tail, degrees),
        };
        let power = match self.has_two_ends {
            true => POWER_OF_BOTH,
            false => POWER,
        };
        (off + power) * error <= self.distance
    }
}

/// Trials of each of two groups that show that they differ, by a p-value up to this limit; of a metric with this resolution (0: not
/// known). `None`: more than [`MAX_TRIALS_NEEDED`], or not known, or what more trials do not show, because the values are known only to
/// within ranges that leave it open.
#[must_use]
pub fn trials_to_differ(
    new: &[Sample],
    old: &[Sample],
    resolution: f64,
    limit: f64,
) -> Option<TrialsNeeded> {
    let (contrast, _) = log_contrast(new, old, resolution)?;
    differing_trials(&contrast, (new.len(), old.len()), limit)
}

/// The same of a contrast of groups with so many trials each on its two sides.
pub(crate) fn differing_trials(
    contrast: &Contrast,
    counts: (usize, usize),
    limit: f64,
) -> Option<TrialsNeeded> {
    let (least, most) = (contrast.ends.0.value, contrast.ends.1.value);
    if least <= 0.0 && most >= 0.0 {
        return None;
    }
    let aim = Aim {
        distance: least.abs().min(most.abs()),
        tail: limit,
        has_two_ends: false,
    };
    trials_needed(contrast, counts, aim)
}

/// Solves `half width + quantile of the power × error = distance` for the number of trials.
pub(crate) fn trials_needed(
    contrast: &Contrast,
    (new, old): (usize, usize),
    aim: Aim,
) -> Option<TrialsNeeded> {
    let (error, degrees) = contrast.sum.error?;
    // As many trials of each group as would have this error.
    let each = match contrast.pairs {
        Some(pairs) => size(pairs),
        None => 2.0 / (1.0 / size(new) + 1.0 / size(old)),
    };
    let variance = error * error * each;
    let least_count = new.max(old) + 1;
    let is_paired = contrast.is_paired();
    let count = |scatter: f64| {
        let decides = |count: usize| aim.is_reached(count, variance * scatter, is_paired);
        smallest(least_count, decides)
    };
    let least = count(1.0 / quantile_share(degrees, SCATTER))?;
    Some(TrialsNeeded {
        least,
        most: count(1.0 / quantile_share(degrees, -SCATTER)),
    })
}

/// The smallest count from `low` on that decides, if more decide whatever fewer do.
fn smallest(low: usize, decides: impl Fn(usize) -> bool) -> Option<usize> {
    if low > MAX_TRIALS_NEEDED || !decides(MAX_TRIALS_NEEDED) {
        return None;
    }
    let (mut low, mut high) = (low, MAX_TRIALS_NEEDED);
    while low < high {
        let middle = low.midpoint(high);
        if decides(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(high)
}

/// A quantile of χ² ÷ its degrees, by that of the normal distribution (Wilson and Hilferty, 1931).
fn quantile_share(degrees: f64, quantile: f64) -> f64 {
    let ninth = 2.0 / (9.0 * degrees);
    (1.0 - ninth + quantile * ninth.sqrt()).max(0.1).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::random::Random, intervals::estimate::ratio};

    fn samples(random: &mut Random, count: usize, level: f64, first: u32) -> Vec<Sample> {
        (first..)
            .take(count)
            .map(|repetition| Sample::exact(repetition, random.lognormal(level, 0.1)))
            .collect()
    }

    #[test]
    fn so_many_trials_show_the_difference() {
        const LIMIT: f64 = 0.005;
        for count in [3, 5] {
            for apart in [0, 100] {
                let (mut shown, mut all) = (0_usize, 0_usize);
                for seed in 0..400 {
                    let mut random = Random::from_seed(seed);
                    let new = samples(&mut random, count, 1.25, 1 + apart);
                    let old = samples(&mut random, count, 1.0, 1);
                    let Some(TrialsNeeded {
                        most: Some(most), ..
                    }) = trials_to_differ(&new, &old, 0.0, LIMIT)
                    else {
                        continue;
                    };
                    let point = ratio(&new, &old, 0.0).unwrap().estimate.point;
                    let new = samples(&mut random, most, point, 1 + 10 * apart);
                    let old = samples(&mut random, most, 1.0, 1);
                    let p_value = ratio(&new, &old, 0.0).unwrap().p_value.unwrap();
                    shown += usize::from(p_value <= LIMIT);
                    all += 1;
                }
                let share = size(shown) / size(all);
                assert!(
                    all > 100 && share >= 0.88,
                    "{count} {apart}: {share} of {all}"
                );
            }
        }
    }

    #[test]
    fn what_trials_cannot_show_has_no_number() {
        let exact = |values: &[f64]| -> Vec<Sample> {
            (1..)
                .zip(values)
                .map(|(repetition, value)| Sample::exact(repetition, *value))
                .collect()
        };
        let check = |new: &[f64], old: &[f64], is_known: bool| {
            let trials = trials_to_differ(&exact(new), &exact(old), 0.0, 0.01);
            assert_eq!(trials.is_some(), is_known, "{new:?} {old:?} {trials:?}");
        };
        check(&[2.0], &[1.0], false);
        check(&[2.0, 3.0, 2.5], &[1.0, 1.4, 1.3], true);
        check(&[1.0, 1.4, 1.2], &[1.0, 1.4, 1.2], false);
        let mut range = exact(&[2.0, 3.0, 2.5]);
        range[0].least = 0.001;
        assert_eq!(
            trials_to_differ(&range, &exact(&[1.0, 1.4, 1.3]), 0.0, 0.01),
            None
        );
    }
}
