//! Change points in a history: the runs from which on a number has another level.
//!
//! On logarithms. Windows of many lengths are laid over the history (seeded binary segmentation: Kovács, Bühlmann, Li and Munk,
//! Biometrika 110, 2023); in each, the two sides of every split are compared as by a t test. The largest of these statistics is
//! compared with those of simulated histories of the same length without a change, so its p-value accounts for all windows and splits.
//! If it is significant, the history is split there, and both parts are examined alike. At the end each change point is placed between
//! its neighbours again, and the smallest ones are removed until all are large and significant enough, as Hunter does (Fleming et al.,
//! ICPE 2023). Why not E-divisive: docs/design/0051.

use std::collections::BTreeMap;

use crate::{
    Estimate, Scale,
    random::Random,
    sample::{mean, size, squares_about},
    student::{critical_95, two_sided},
};

/// More runs than this are refused: each takes time in every simulated history.
pub const MAX_HISTORY: usize = 5_000;
/// A level has at least this many runs: a single one may be disturbed.
const MIN_LEVEL: usize = 2;
/// How often a part of a history without a change shows one.
const FALSE_ALARMS: f64 = 0.01;
/// How many histories without a change are simulated.
const SIMULATIONS: usize = 1_999;
/// So many simulated histories with a larger statistic settle that it is not significant (Besag and Clifford, 1991).
const ENOUGH: usize = 60;
/// A run that differs from both neighbours by more standard deviations than this counts as the median of the three.
const OUTLIER: f64 = 4.0;
/// Assumed scatter of a constant history: a smaller difference is rounding.
const ROUNDING: f64 = 1e-4;

/// A number of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    pub value: f64,
    /// Standard error of the logarithm of `value`, if known.
    pub log_error: Option<f64>,
}

/// A run from which on the level differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Position of the first run of the new level, from 0.
    pub index: usize,
    /// Geometric means of the runs since the change point before, and until the next one.
    pub before: f64,
    pub after: f64,
    /// `after ÷ before`, with its 95 % interval; its count is that of the runs.
    pub ratio: Estimate,
    /// How often a history without a change shows at least so much.
    pub p_value: f64,
}

/// The change points of a history whose runs are in order of time, in that order. Smaller changes than `min_change` (a share) are not
/// reported. `None` if there are more than [`MAX_HISTORY`] runs, or a value is below zero or not finite.
#[must_use]
pub fn change_points(runs: &[Run], scale: Scale, min_change: f64) -> Option<Vec<ChangePoint>> {
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    if runs.len() > MAX_HISTORY || values.iter().any(|value| !value.is_finite() || *value < 0.0) {
        return None;
    }
    if values.iter().all(|value| *value <= 0.0) {
        return Some(vec![]);
    }
    let logs = scale.logs(&values);
    let errors: Vec<f64> = runs.iter().filter_map(|run| run.log_error).collect();
    let known = if errors.is_empty() { 0.0 } else { (squares_about(&errors, 0.0) / size(errors.len())).sqrt() };
    let noise = known.max(ROUNDING);
    let mut search = Search { logs: &logs, noise, null: BTreeMap::new(), found: vec![] };
    search.split(0, logs.len());
    search.found.sort_by_key(|(at, _)| *at);
    let levels = Levels { logs: &logs, noise, min_change };
    Some(levels.settle(search.found))
}

struct Search<'a> {
    logs: &'a [f64],
    noise: f64,
    null: BTreeMap<usize, Vec<f64>>,
    found: Vec<(usize, f64)>,
}

impl Search<'_> {
    fn split(&mut self, start: usize, end: usize) {
        let part = &self.logs[start..end];
        let Some((at, statistic)) = largest_step(part, self.noise) else { return };
        let p_value = p_value(statistic, part.len());
        if p_value > FALSE_ALARMS { return }
        self.found.push((start + at, p_value));
        self.split(start, start + at);
        self.split(start + at, end);
    }
}

pub fn p_value(statistic: f64, count: usize) -> f64 {
    let mut random = Random::from_seed(count as u64);
    let mut larger = 0;
    for done in 1..=SIMULATIONS {
        let noise: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        if largest_step(&noise, 0.0).is_some_and(|(_, found)| found >= statistic) {
            larger += 1;
            if larger >= ENOUGH { return size(larger) / size(done); }
        }
    }
    size(larger + 1) / size(SIMULATIONS + 1)
}

fn median3(a: f64, b: f64, c: f64) -> f64 { a.min(b).max(a.max(b).min(c)) }

fn without_outliers(logs: &[f64]) -> Vec<f64> {
    if logs.len() < 5 { return logs.to_vec() }
    let mut steps: Vec<f64> = logs.windows(2).map(|p| (p[1] - p[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let sigma = steps[steps.len() / 2] / (0.6745 * 2f64.sqrt());
    let last = logs.len() - 1;
    (0..logs.len()).map(|i| {
        let m = i.clamp(1, last - 1);
        let middle = median3(logs[m - 1], logs[m], logs[m + 1]);
        if (logs[i] - middle).abs() > OUTLIER * sigma { middle } else { logs[i] }
    }).collect()
}

fn largest_step(logs: &[f64], noise: f64) -> Option<(usize, f64)> {
    if logs.len() < 2 * MIN_LEVEL { return None }
    let logs = &without_outliers(logs)[..];
    let n = logs.len();
    let mut sums = vec![0.0; n + 1];
    for i in 0..n { sums[i + 1] = sums[i] + logs[i]; }
    let mut best = (0, -1.0_f64);
    let windows = std::env::var("BINARY").is_err();
    let mut length = size(n);
    loop {
        let len = length.round() as usize;
        if len < 2 * MIN_LEVEL { break }
        let step = (len / 2).max(1);
        let mut start = 0;
        loop {
            let s = start.min(n - len);
            let e = s + len;
            for k in s + MIN_LEVEL..=e - MIN_LEVEL {
                let (a, b) = (size(k - s), size(e - k));
                let d = ((sums[k] - sums[s]) / a - (sums[e] - sums[k]) / b).abs() * (a * b / (a + b)).sqrt();
                if d > best.1 { best = (k, d) }
            }
            if s + len >= n { break }
            start += step;
        }
        if !windows { break }
        length /= std::f64::consts::SQRT_2;
    }
    let diff: f64 = logs.windows(2).map(|p| (p[1] - p[0]) * (p[1] - p[0])).sum::<f64>() / (2.0 * size(n - 1));
    let (l, r) = logs.split_at(best.0);
    let resid = (squares_about(l, mean(l)) + squares_about(r, mean(r))) / size(n - 2);
    let variance = match std::env::var("SIGMA").as_deref() { Ok("diff") => diff, Ok("min") => diff.min(resid), _ => resid };
    Some((best.0, best.1 / variance.sqrt().max(noise).max(1e-12)))
}

struct Levels<'a> { logs: &'a [f64], noise: f64, min_change: f64 }

impl Levels<'_> {
    fn settle(&self, mut found: Vec<(usize, f64)>) -> Vec<ChangePoint> {
        for i in 0..found.len() {
            let s = if i == 0 { 0 } else { found[i - 1].0 };
            let e = found.get(i + 1).map_or(self.logs.len(), |f| f.0);
            let mut best = (found[i].0, -1.0);
            for k in s + MIN_LEVEL..=e - MIN_LEVEL {
                let (l, r) = self.logs[s..e].split_at(k - s);
                let (a, b) = (size(l.len()), size(r.len()));
                let d = (mean(l) - mean(r)).abs() * (a * b / (a + b)).sqrt();
                if d > best.1 { best = (k, d) }
            }
            found[i].0 = best.0;
        }
        loop {
            let points = self.points(&found);
            let weakest = points.iter().enumerate().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let drop = match weakest {
                Some((i, (p, _))) if *p > FALSE_ALARMS => Some(i),
                _ => points.iter().enumerate().map(|(i, (_, c))| (i, c.ratio.point.ln().abs())).min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, c)| *c < self.min_change.ln_1p()).map(|(i, _)| i),
            };
            match drop { Some(i) => { found.remove(i); } None => return points.into_iter().map(|p| p.1).collect() }
        }
    }
    fn points(&self, found: &[(usize, f64)]) -> Vec<(f64, ChangePoint)> {
        let mut ends: Vec<usize> = vec![0];
        ends.extend(found.iter().map(|f| f.0));
        ends.push(self.logs.len());
        let squares: f64 = ends.windows(2).map(|w| { let l = &self.logs[w[0]..w[1]]; squares_about(l, mean(l)) }).sum();
        let degrees = size(self.logs.len() - found.len() - 1);
        let variance = (squares / degrees).max(self.noise * self.noise);
        ends.windows(3).zip(found).map(|(w, (index, p_value))| {
            let (l, r) = (&self.logs[w[0]..w[1]], &self.logs[w[1]..w[2]]);
            let error = (variance * (1.0 / size(l.len()) + 1.0 / size(r.len()))).sqrt();
            let d = mean(r) - mean(l);
            let off = critical_95(degrees) * error;
            (two_sided(d / error, degrees), ChangePoint { index: *index, before: mean(l).exp(), after: mean(r).exp(), p_value: *p_value,
                ratio: Estimate { point: d.exp(), interval: Some(((d - off).exp(), (d + off).exp())), count: l.len() + r.len() } })
        }).collect()
    }
}
