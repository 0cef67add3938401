//! Estimates over trials: a point with its 95 % interval. The trial is the unit, never the request (method rule 3).
//!
//! The point is the geometric mean, so that a ratio of two estimates is the estimate of the ratio; the interval is Student's t on
//! logarithms, at any number of trials. A value below the resolution of its metric counts as the resolution: a cell with a trial of 0
//! is estimated like one with a trial of almost 0. Only metrics that can be below zero have an arithmetic mean. No interval is
//! narrower than the resolution, and none reaches beyond what can be. From six trials on [`median`] gives a second interval, which
//! does not depend on the shape of the scatter. Sources: Georges et al., OOPSLA 2007; Kalibera and Jones, ISMM 2013; David and
//! Nagaraja, Order Statistics, section 7.1. Why no bootstrap: docs/design/0046.

pub use crate::intervals::range::Estimate;
use crate::{
    arithmetic::{
        sample::{mean, median as middle, size, squares_about},
        student::critical_95,
    },
    intervals::{
        contrast::{Contrast, Sample, Term, contrast, values},
        range::resolved_ratio,
    },
};

/// Fewer trials give no 95 % interval of the median.
pub const MEDIAN_FROM: usize = 6;
/// A value of 0 of a metric without a known resolution counts as this share of the largest value.
const ZERO_SHARE: f64 = 1e-3;

/// What a metric can tell apart, and how large it can be, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Values that differ by less are the same value; 0: not known.
    pub resolution: f64,
    /// The largest value that there can be; infinite: no limit.
    pub max: f64,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            resolution: 0.0,
            max: f64::INFINITY,
        }
    }
}

impl Scale {
    /// Of values with either scale.
    #[must_use]
    pub fn coarser(self, other: Self) -> Self {
        Self {
            resolution: self.resolution.max(other.resolution),
            max: self.max.max(other.max),
        }
    }

    /// Of a metric that tells apart what differs by so much.
    #[must_use]
    pub fn from_resolution(resolution: f64) -> Self {
        Self {
            resolution,
            ..Self::default()
        }
    }

    /// The logarithms of values of which none is below zero and one is above. A value below the resolution counts as the resolution;
    /// if that is not known, 0 counts as a thousandth of the largest value, or as the smallest one above 0.
    pub(crate) fn logs(&self, values: &[f64]) -> Vec<f64> {
        let floor = self.floor(values);
        values.iter().map(|value| value.max(floor).ln()).collect()
    }

    /// The same of trials, in their groups.
    pub(crate) fn sample_logs(&self, groups: &[&[Sample]]) -> Vec<Vec<Sample>> {
        let floor = self.floor(
            &groups
                .iter()
                .flat_map(|group| values(group))
                .collect::<Vec<f64>>(),
        );
        let logs = |trial: &Sample| log_sample(trial, floor);
        let groups = groups.iter();
        groups
            .map(|group| group.iter().map(logs).collect())
            .collect()
    }

    /// What a value of 0 counts as.
    fn floor(&self, values: &[f64]) -> f64 {
        let above = || values.iter().copied().filter(|value| *value > 0.0);
        let largest = above().fold(0.0, f64::max);
        match self.resolution > 0.0 {
            true => self.resolution,
            false => above().fold(ZERO_SHARE * largest, f64::min),
        }
    }

    /// Not narrower than the resolution, and within what can be.
    fn widen(&self, point: f64, (low, high): (f64, f64), least: f64) -> (f64, f64) {
        let half = self.resolution.max(0.0) / 2.0;
        (
            low.min(point - half).max(least),
            high.max(point + half).min(self.max.max(point)),
        )
    }
}

impl Estimate {
    /// Of a contrast of logarithms, whose interval may have an open end; `None` if the arithmetic overflowed.
    pub(crate) fn of_contrast(
        contrast: &Contrast,
        interval: Option<(f64, f64)>,
        count: usize,
    ) -> Option<Self> {
        let is_open = [contrast.ends.0, contrast.ends.1].map(|sum| sum.value.is_infinite());
        let fits = |(low, high): &(f64, f64)| {
            (low.is_finite() || is_open[0]) && (high.is_finite() || is_open[1])
        };
        let known = Self::finite(contrast.sum.value.exp(), None, count)?;
        Some(Self {
            interval: interval.filter(fits),
            ..known
        })
    }
}

/// The estimate of one metric from its value in each trial; `None` without values or if one is not finite.
#[must_use]
pub fn estimate(values: &[f64], scale: Scale) -> Option<Estimate> {
    let largest = largest_finite(values)?;
    let count = values.len();
    if values.iter().any(|value| *value < 0.0) {
        let (middle, interval) = mean_interval(values);
        let interval = interval.map(|ends| scale.widen(middle, ends, f64::NEG_INFINITY));
        return Estimate::finite(middle, interval, count);
    }
    if largest == 0.0 {
        let interval = (count > 1).then_some((0.0, scale.resolution.max(0.0)));
        return Estimate::finite(0.0, interval, count);
    }
    let (middle, interval) = mean_interval(&scale.logs(values));
    let point = middle.exp();
    let interval = interval.map(|(low, high)| scale.widen(point, (low.exp(), high.exp()), 0.0));
    Estimate::finite(point, interval, count)
}

/// A value of one trial, with the lowest and the highest that the system's own value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    pub low: f64,
    pub value: f64,
    pub high: f64,
}

impl Bounded {
    /// A value that is known exactly.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self {
            low: value,
            value,
            high: value,
        }
    }

    fn is_exact(&self) -> bool {
        self.low >= self.high
    }
}

/// The same of a metric that is known in each trial only to within a range. The interval reaches from the low end of that of the
/// trials' lowest values to the high end of that of their highest.
#[must_use]
pub fn estimate_bounded(trials: &[Bounded], scale: Scale) -> Option<Estimate> {
    join_ranges(trials, |values| estimate(values, scale))
}

/// Estimates both ends of the ranges. What is known exactly has no range.
fn join_ranges(
    trials: &[Bounded],
    estimate: impl Fn(&[f64]) -> Option<Estimate>,
) -> Option<Estimate> {
    let each = |end: fn(&Bounded) -> f64| -> Vec<f64> { trials.iter().map(end).collect() };
    let point = estimate(&each(|trial| trial.value))?;
    if trials.iter().all(Bounded::is_exact) {
        return Some(point);
    }
    let least = estimate(&each(|trial| trial.low))?;
    let most = estimate(&each(|trial| trial.high))?;
    let ends = (least.interval.zip(most.interval)).zip(point.interval);
    let is_highest = trials.iter().all(|trial| trial.value >= trial.high);
    Some(Estimate {
        interval: ends
            .map(|(((lowest, _), (_, highest)), (low, high))| (low.min(lowest), high.max(highest))),
        least: is_highest.then(|| least.point.min(point.point)),
        ..point
    })
}

/// The largest of the trials' values; `None` without values or if one is not finite. It has no interval: a maximum grows with the
/// number of samples, and the scatter of the trials' maxima does not bound the next one.
#[must_use]
pub fn largest(values: &[f64]) -> Option<Estimate> {
    Estimate::finite(largest_finite(values)?, None, values.len())
}

/// The median over trials, with the interval between two of the values that contains it in at least 95 % of samples, however they
/// scatter; `None` of fewer than [`MEDIAN_FROM`], or if a value is not finite.
#[must_use]
pub fn median(values: &[f64]) -> Option<Estimate> {
    largest_finite(values)?;
    let below = outside_median(values.len())?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let interval = (sorted[below], sorted[sorted.len() - 1 - below]);
    Estimate::finite(middle(&sorted), Some(interval), values.len())
}

/// The same of a metric that is known in each trial only to within a range.
#[must_use]
pub fn median_of_bounded(trials: &[Bounded]) -> Option<Estimate> {
    join_ranges(trials, median)
}

/// How many values lie beyond either end of the interval: as many as leave the median out in at most 2.5 % of samples.
fn outside_median(count: usize) -> Option<usize> {
    const TAIL: f64 = 0.025;
    let mut term = 0.5_f64.powi(i32::try_from(count).ok()?);
    let (mut below, mut sum) = (0, term);
    while sum <= TAIL {
        term *= size(count - below) / size(below + 1);
        sum += term;
        below += 1;
    }
    // Of many values a power of two is 0; a thousand trials are not run.
    (sum > TAIL && below > 0).then(|| below - 1)
}

/// Sample standard deviation over trials (n − 1 degrees of freedom); `None` for fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let degrees = values.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let deviation = (squares_about(values, mean(values)) / size(degrees)).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// How two groups of trials compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestedEstimate {
    /// `new ÷ old`. There is no interval if a group has a single trial, or if the resolution does not tell `old` from 0.
    pub estimate: Estimate,
    /// How often trials of equal groups differ at least so much; `None` without an interval.
    pub p_value: Option<f64>,
    /// Both groups have the same repetitions, and were compared repetition by repetition.
    pub is_paired: bool,
}

/// The ratio of two groups, which share no trial, of a metric with this resolution (0: not known). `None` if a group is empty, a
/// value is below zero or not finite, or `old` is nothing but 0.
#[must_use]
pub fn ratio(new: &[Sample], old: &[Sample], resolution: f64) -> Option<TestedEstimate> {
    let (contrast, levels) = log_contrast(new, old, resolution)?;
    let interval = ratio_interval(&contrast, levels, resolution);
    let estimate = Estimate::of_contrast(&contrast, interval, new.len() + old.len())?;
    Some(TestedEstimate {
        p_value: estimate.interval.and_then(|ends| p_value(&contrast, ends)),
        estimate,
        is_paired: contrast.is_paired(),
    })
}

/// The difference of the logarithms of two groups, and the geometric mean of each; `None` as in [`ratio()`].
pub(crate) fn log_contrast(
    new: &[Sample],
    old: &[Sample],
    resolution: f64,
) -> Option<(Contrast, (f64, f64))> {
    let all = [values(new), values(old)].concat();
    largest_finite(&all)?;
    let is_nothing = old.iter().all(|trial| trial.value <= 0.0);
    if new.is_empty() || is_nothing || all.iter().any(|value| *value < 0.0) {
        return None;
    }
    let logs = Scale::from_resolution(resolution).sample_logs(&[new, old]);
    let [new, old] = logs.as_slice() else {
        return None;
    };
    let term = |weight, trials| Term { weight, trials };
    let difference = contrast(&[term(1.0, new), term(-1.0, old)], None);
    Some((difference, (level(new), level(old))))
}

/// The interval of a ratio of two levels whose difference on the log scale is known; not narrower than the resolution allows.
pub(crate) fn ratio_interval(
    contrast: &Contrast,
    levels: (f64, f64),
    resolution: f64,
) -> Option<(f64, f64)> {
    let (low, high) = contrast.interval()?;
    let resolved = resolved_ratio(levels, resolution)?;
    Some((low.exp().min(resolved.0), high.exp().max(resolved.1)))
}

/// That of the scatter; 1 if only the resolution leaves open that the groups are equal.
pub(crate) fn p_value(contrast: &Contrast, (low, high): (f64, f64)) -> Option<f64> {
    let is_open = (low..=high).contains(&1.0);
    let by_scatter = contrast.p_value()?;
    let is_different = contrast
        .interval()
        .is_some_and(|(low, high)| !(low..=high).contains(&0.0));
    Some(if is_open && is_different {
        1.0
    } else {
        by_scatter
    })
}

/// What is below the floor counts as the floor; what has no lower end keeps none.
fn log_sample(trial: &Sample, floor: f64) -> Sample {
    Sample {
        least: match trial.least == f64::NEG_INFINITY {
            true => trial.least,
            false => trial.least.max(floor).ln(),
        },
        most: trial.most.max(floor).ln(),
        value: trial.value.max(floor).ln(),
        ..*trial
    }
}

/// The geometric mean of logarithms.
fn level(logs: &[Sample]) -> f64 {
    mean(&values(logs)).exp()
}

/// The largest value; `None` without values or if one is not finite.
fn largest_finite(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    values.iter().copied().reduce(f64::max)
}

/// The mean, and Student's interval of it if there is more than one value.
pub(crate) fn mean_interval(values: &[f64]) -> (f64, Option<(f64, f64)>) {
    let middle = mean(values);
    if values.len() < 2 {
        return (middle, None);
    }
    let degrees = size(values.len() - 1);
    let error = (squares_about(values, middle) / degrees / size(values.len())).sqrt();
    let off = critical_95(degrees) * error;
    (middle, Some((middle - off, middle + off)))
}

#[cfg(test)]
mod tests;
