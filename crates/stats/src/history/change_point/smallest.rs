//! The smallest change that a history would show.

use crate::{
    arithmetic::{
        sample::{mean, size, squares_about},
        student::critical,
    },
    history::change_point::{
        ChangeLimits, HistoryRun, MIN_HISTORY, ROUNDING, independent_tests, known_scatter,
        without_outliers,
    },
    intervals::estimate::Scale,
};

/// 80 % of normal numbers are below so many standard deviations.
const POWER: f64 = 0.841_621_2;

/// The smallest change that four of five histories like this one would show, as a share: 0.05 is a rise from 100 to 105. It lies
/// half-way through the runs since the last change point; `starts` has the positions of these. `None` of too few runs since then, or
/// if a value is not above zero.
///
/// The step must be significant among all windows and splits, and by so much that chance does not hide it (`POWER`): the scatter of
/// its estimate counts, and that of the scatter itself. Of simulated histories of 4 to 200 runs, 78 to 88 % show it.
#[must_use]
pub fn smallest_change(
    runs: &[HistoryRun],
    starts: &[usize],
    scale: Scale,
    limits: ChangeLimits,
) -> Option<f64> {
    let since = starts.last().map_or(0, |start| (*start).min(runs.len()));
    let count = runs.len() - since;
    let is_positive = |run: &HistoryRun| run.value.is_finite() && run.value > 0.0;
    if count < MIN_HISTORY || !runs.iter().all(is_positive) {
        return None;
    }
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    let scatter = scatter(&scale.logs(&values), starts)
        .max(known_scatter(runs))
        .max(ROUNDING);
    let (before, after) = (size(count / 2), size(count.div_ceil(2)));
    let error = scatter * (1.0 / before + 1.0 / after).sqrt();
    let degrees = size(count - 2);
    let needed = critical(limits.false_alarms / independent_tests(count), degrees);
    let significant = error * (needed + POWER * (1.0 + needed * needed / (2.0 * degrees)).sqrt());
    let large = limits.min_change.ln_1p() + POWER * error;
    let level = mean(&scale.logs(&values[since..])).exp();
    let resolved = (scale.resolution / level).ln_1p();
    Some(significant.max(large).max(resolved).exp_m1())
}

/// The standard deviation about the levels.
fn scatter(logs: &[f64], starts: &[usize]) -> f64 {
    let ends: Vec<usize> = [0]
        .into_iter()
        .chain(starts.iter().copied())
        .chain([logs.len()])
        .collect();
    let levels = ends.windows(2).map(|ends| &logs[ends[0]..ends[1]]);
    let squares: f64 = levels
        .map(|level| {
            let level = without_outliers(level);
            squares_about(&level, mean(&level))
        })
        .sum();
    let degrees = size(logs.len().saturating_sub(ends.len() - 1).max(1));
    (squares / degrees).sqrt()
}
