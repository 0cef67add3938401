//! Change points in a history: the runs from which on a number has another level.
//!
//! On logarithms. Windows of many lengths are laid over the history (seeded binary segmentation: Kovács, Bühlmann, Li and Munk,
//! Biometrika 110, 2023); in each, the two sides of every split are compared by a t test. The p-value of the clearest step accounts
//! for all windows and splits. If it is significant, the history is split there, and both parts are examined alike. At the end each
//! change point is placed between its neighbours again, and the weakest ones are removed until all are large and significant enough,
//! as Hunter does (Fleming et al., ICPE 2023). Rates, limits, and why not E-divisive: docs/design/0051.

mod smallest;

pub use smallest::smallest_change;

use crate::{
    arithmetic::{
        sample::{mean, median, size, squares_about},
        student::{critical_95, two_sided},
    },
    intervals::estimate::{Estimate, Scale},
};

/// Longer histories are refused.
pub const MAX_HISTORY: usize = 10_000;
/// A level has at least this many runs: a single one may be disturbed.
const MIN_LEVEL: usize = 2;
/// Shorter histories have no change points: each of two levels has its runs.
pub const MIN_HISTORY: usize = 2 * MIN_LEVEL;
/// n runs have about this × n^1.5 independent tests of one step by the scatter of the whole (fitted to simulations of 4 to 1,000 runs, at
/// p-values of 0.05 to 0.002).
const INDEPENDENT_TESTS: f64 = 0.3;
/// A run that differs from the median of itself and its neighbours by more standard deviations than this counts as that median.
const OUTLIER: f64 = 4.0;
/// With fewer runs the scatter is not known well enough to call one an outlier.
const MIN_OUTLIER_RUNS: usize = 20;
/// The median of the absolute difference of two normal numbers, in standard deviations of one.
const MEDIAN_DIFFERENCE: f64 = 0.953_872_6;
/// Assumed scatter of a constant history: a smaller difference is rounding.
const ROUNDING: f64 = 1e-4;

/// The number of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryRun {
    pub value: f64,
    /// Standard error of the logarithm of `value`, if known. The scatter of a history counts as at least the median of these.
    pub log_error: Option<f64>,
}

impl HistoryRun {
    /// A value with the error that its interval over trials has.
    #[must_use]
    pub fn from_estimate(estimate: &Estimate) -> Self {
        let log_error = estimate.interval.and_then(|(low, high)| {
            let degrees = size(estimate.count.checked_sub(1)?.max(1));
            (low > 0.0).then(|| (high / low).ln() / (2.0 * critical_95(degrees)))
        });
        Self {
            value: estimate.point,
            log_error,
        }
    }
}

/// Which steps count as changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeLimits {
    /// How often a part of a history without a change shows one.
    pub false_alarms: f64,
    /// Changes of less than this are left out: a share, either way.
    pub min_change: f64,
}

/// A run from which on the level differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Position of the first run of the new level, from 0.
    pub index: usize,
    /// Geometric means of the runs since the change point before and until the next one, in the unit of the values.
    pub before: f64,
    pub after: f64,
    /// `after ÷ before`; its count is that of the runs of both levels. The scatter is that of the whole history about its levels. As
    /// the step was chosen because it is large, the interval contains the true ratio a little less often than 95 %.
    pub ratio: Estimate,
    /// How often a part of a history that has no change shows at least so clear a step.
    pub p_value: f64,
}

/// The change points of a history whose runs are in order of time, in that order. Changes below the resolution are left out, too.
/// `None` of more than [`MAX_HISTORY`] runs, or if a value is below zero or not finite.
#[must_use]
pub fn change_points(
    runs: &[HistoryRun],
    scale: Scale,
    limits: ChangeLimits,
) -> Option<Vec<ChangePoint>> {
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    if runs.len() > MAX_HISTORY
        || values
            .iter()
            .any(|value| !value.is_finite() || *value < 0.0)
    {
        return None;
    }
    if values.iter().all(|value| *value <= 0.0) {
        return Some(vec![]);
    }
    let history = History {
        logs: scale.logs(&values),
        min_scatter: known_scatter(runs).max(ROUNDING),
        resolution: scale.resolution,
        false_alarms: limits.false_alarms,
    };
    let mut points = vec![];
    history.split(0, runs.len(), &mut points);
    points.sort_by_key(|point| point.at);
    history.place(&mut points);
    Some(history.without_weak(points, limits.min_change.ln_1p()))
}

/// The median of the standard errors that are known, so that a single disturbed run does not hide a change; 0 without any.
fn known_scatter(runs: &[HistoryRun]) -> f64 {
    let errors = runs.iter().filter_map(|run| run.log_error);
    let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
    match errors.is_empty() {
        true => 0.0,
        false => median(&errors),
    }
}

/// A change point that was found.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    p_value: f64,
}

struct History {
    logs: Vec<f64>,
    min_scatter: f64,
    /// In the unit of the values.
    resolution: f64,
    false_alarms: f64,
}

impl History {
    /// Adds the change points of a part.
    fn split(&self, start: usize, end: usize, points: &mut Vec<Found>) {
        let mut parts = vec![(start, end)];
        while let Some((start, end)) = parts.pop() {
            let Some((step, p_value)) = clearest_step(&self.logs[start..end], self.min_scatter)
            else {
                continue;
            };
            if p_value <= self.false_alarms {
                let position = start + step;
                points.push(Found {
                    at: position,
                    p_value,
                });
                parts.extend([(start, position), (position, end)]);
            }
        }
    }

    /// Puts each change point where the step between its neighbours is largest.
    fn place(&self, points: &mut [Found]) {
        for index in 0..points.len() {
            let start = index.checked_sub(1).map_or(0, |before| points[before].at);
            let end = points
                .get(index + 1)
                .map_or(self.logs.len(), |next| next.at);
            let sums = Sums::new(&self.logs[start..end]);
            if let Some((position, _)) = sums.largest_step(0, end - start) {
                points[index].at = start + position;
            }
        }
    }

    /// Without those that are not significant or are smaller than `min_change`, a logarithm: the weakest goes first, as what is left
    /// depends on it.
    fn without_weak(&self, mut points: Vec<Found>, min_change: f64) -> Vec<ChangePoint> {
        loop {
            let levels = self.changes(&points);
            let by_p = (0..levels.len()).max_by(|a, b| levels[*a].1.total_cmp(&levels[*b].1));
            let size_of = |index: usize| self.size_of(&levels[index].0);
            let by_size = (0..levels.len()).min_by(|a, b| size_of(*a).total_cmp(&size_of(*b)));
            let weakest = by_p
                .filter(|index| levels[*index].1 > self.false_alarms)
                .or(by_size.filter(|index| size_of(*index) < min_change.max(ROUNDING)));
            match weakest {
                Some(index) => points.remove(index),
                None => return levels.into_iter().map(|(change, _)| change).collect(),
            };
        }
    }

    /// As a logarithm; 0 if the levels differ by less than the resolution.
    fn size_of(&self, change: &ChangePoint) -> f64 {
        if (change.after - change.before).abs() < self.resolution {
            return 0.0;
        }
        change.ratio.point.ln().abs()
    }

    /// Each change with the p-value of a t test between its two levels.
    fn changes(&self, points: &[Found]) -> Vec<(ChangePoint, f64)> {
        let inner = points.iter().map(|point| point.at);
        let ends: Vec<usize> = [0]
            .into_iter()
            .chain(inner)
            .chain([self.logs.len()])
            .collect();
        let levels: Vec<&[f64]> = ends
            .windows(2)
            .map(|ends| &self.logs[ends[0]..ends[1]])
            .collect();
        let squares: f64 = levels
            .iter()
            .map(|logs| squares_about(logs, mean(logs)))
            .sum();
        let degrees = size(self.logs.len().saturating_sub(levels.len()).max(1));
        let scatter = (squares / degrees).sqrt().max(self.min_scatter);
        levels
            .windows(2)
            .zip(points)
            .map(|(pair, point)| change(*point, pair[0], pair[1], (scatter, degrees)))
            .collect()
    }
}

fn change(
    point: Found,
    before: &[f64],
    after: &[f64],
    (scatter, degrees): (f64, f64),
) -> (ChangePoint, f64) {
    let difference = mean(after) - mean(before);
    let error = scatter * (1.0 / size(before.len()) + 1.0 / size(after.len())).sqrt();
    let off = critical_95(degrees) * error;
    let change = ChangePoint {
        index: point.at,
        before: mean(before).exp(),
        after: mean(after).exp(),
        ratio: Estimate {
            point: difference.exp(),
            interval: Some(((difference - off).exp(), (difference + off).exp())),
            count: before.len() + after.len(),
            least: None,
        },
        p_value: point.p_value,
    };
    (change, two_sided(difference / error, degrees))
}

/// The first position after the clearest step in any window, and the p-value; `None` of too few values. A step is judged by the scatter of the
/// whole about it, which is known best, and by that of its window, as a level that is left again is scatter of the whole and would hide its
/// own step. Whichever is clearer counts.
fn clearest_step(logs: &[f64], min_scatter: f64) -> Option<(usize, f64)> {
    let logs = without_outliers(logs);
    let sums = Sums::new(&logs);
    let ranges = windows(logs.len()).into_iter();
    let steps = ranges.filter_map(|range| Step::largest_in(range, &sums));
    let steps: Vec<Step> = steps.collect();
    let largest = steps.iter().max_by(|a, b| a.square.total_cmp(&b.square))?;
    let by_whole = largest.p_value(&logs, (0, logs.len()), min_scatter);
    let by_whole = (largest.position, independent_tests(logs.len()) * by_whole);
    let p_values = steps
        .iter()
        .map(|step| (step.position, step.p_value(&logs, step.window, min_scatter)));
    let (position, p_value) = p_values.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let by_window = (position, split_count(logs.len()) * p_value);
    let (position, p_value) = match by_window.1 < by_whole.1 {
        true => by_window,
        false => by_whole,
    };
    Some((position, p_value.min(1.0)))
}

/// The largest step of a window.
struct Step {
    window: (usize, usize),
    position: usize,
    /// As [`Sums::step`] has it.
    square: f64,
}

impl Step {
    fn largest_in(window: (usize, usize), sums: &Sums) -> Option<Self> {
        let (position, square) = sums.largest_step(window.0, window.1)?;
        Some(Self {
            window,
            position,
            square,
        })
    }

    /// Of a t test with the scatter of these values about the step.
    fn p_value(&self, logs: &[f64], (start, end): (usize, usize), min_scatter: f64) -> f64 {
        let (before, after) = (&logs[start..self.position], &logs[self.position..end]);
        let squares = squares_about(before, mean(before)) + squares_about(after, mean(after));
        let degrees = size(end - start - 2);
        let scatter = (squares / degrees).sqrt().max(min_scatter);
        two_sided(self.square.sqrt() / scatter, degrees)
    }
}

/// How many independent tests the search for one step makes, by the scatter of the whole.
fn independent_tests(runs: usize) -> f64 {
    (INDEPENDENT_TESTS * size(runs).powf(1.5)).min(split_count(runs))
}

/// The splits of all windows: so many tests there are.
fn split_count(runs: usize) -> f64 {
    let splits = |(start, end): (usize, usize)| end - start - 2 * MIN_LEVEL + 1;
    size(windows(runs).into_iter().map(splits).sum())
}

/// Windows of `count` values: the whole, then each length shorter by √2, every half of a length.
fn windows(count: usize) -> Vec<(usize, usize)> {
    let mut ranges = vec![];
    let mut length = count;
    while length >= 2 * MIN_LEVEL {
        let step = length / 2;
        let last = count - length;
        ranges.extend((0..last).step_by(step).map(|start| (start, start + length)));
        ranges.push((last, count));
        // 0.7071 = 1 / √2.
        length = length * 7_071 / 10_000;
    }
    ranges
}

/// A single value far from its neighbours counts as one of them: a disturbed run is no new level.
fn without_outliers(logs: &[f64]) -> Vec<f64> {
    if logs.len() < MIN_OUTLIER_RUNS {
        return logs.to_vec();
    }
    let steps: Vec<f64> = logs
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    let far = OUTLIER * median(&steps) / MEDIAN_DIFFERENCE;
    let last = logs.len() - 1;
    let mut kept = logs.to_vec();
    for (index, log) in kept.iter_mut().enumerate() {
        // The first and the last value have two neighbours on one side.
        let middle = index.clamp(1, last - 1);
        let usual = median(&logs[middle - 1..=middle + 1]);
        if (*log - usual).abs() > far {
            *log = usual;
        }
    }
    kept
}

/// Sums of the first values of a series, about their mean.
struct Sums(Vec<f64>);

impl Sums {
    fn new(logs: &[f64]) -> Self {
        let level = if logs.is_empty() { 0.0 } else { mean(logs) };
        let sums = logs.iter().scan(0.0, |sum, log| {
            *sum += log - level;
            Some(*sum)
        });
        Self([0.0].into_iter().chain(sums).collect())
    }

    /// The split of `start..end` with the largest step; `None` of too few values.
    fn largest_step(&self, start: usize, end: usize) -> Option<(usize, f64)> {
        let last = end.checked_sub(MIN_LEVEL)?;
        let splits = start + MIN_LEVEL..=last;
        let steps = splits.map(|split| (split, self.step(start, split, end)));
        steps.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The squared difference of the means of `start..split` and `split..end`, divided by what its variance is for a scatter of 1.
    fn step(&self, start: usize, split: usize, end: usize) -> f64 {
        let (before, after) = (size(split - start), size(end - split));
        let low = (self.0[split] - self.0[start]) / before;
        let high = (self.0[end] - self.0[split]) / after;
        (high - low) * (high - low) * before * after / (before + after)
    }
}

#[cfg(test)]
mod tests;
