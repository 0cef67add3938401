//! The level that half of the trials hold, from all trials of a search: what the bracket of one holding and one failing level cannot
//! say where the capacity varies from trial to trial.
//!
//! In each trial the system holds what is below its capacity at that time, which varies lognormally. How much it varies is not
//! known and, with trials that all agree, not shown; so it has a prior, and its posterior is summed over. A trial in fifty shows the
//! opposite of what is so. The interval is that of the posterior of the median. It exists for any trials of which one held and one
//! failed, also where all that held are below all that failed.

use crate::search::LevelSummary;

/// How much the capacity varies from trial to trial, as the standard deviation of its logarithm: the middle of the prior, and the
/// standard deviation of its logarithm.
const SCATTER: f64 = 0.08;
const SCATTER_SPREAD: f64 = 1.0;
/// Scatters that are summed over, each so many times the one before.
const SCATTERS: std::ops::Range<i32> = -7..6;
const SCATTER_STEP: f64 = 1.4;
/// Share of the trials that show the opposite.
const BAD_TRIALS: f64 = 0.02;
/// The median may be so far outside of the levels between which trials disagree, on the log scale.
const MARGIN: f64 = 0.8;
const POINTS: u32 = 400;
/// What is left out of the interval at each of its ends.
const TAIL: f64 = 0.025;

/// The level that half of the trials hold, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLevel {
    pub level: f64,
    pub low: f64,
    pub high: f64,
    /// Trials that it rests on.
    pub trials: u32,
}

impl FittedLevel {
    /// `None` unless one trial held and one failed.
    #[must_use]
    pub fn new(levels: &[LevelSummary]) -> Option<Self> {
        let judged: Vec<&LevelSummary> = levels
            .iter()
            .filter(|seen| seen.judged_trials() > 0)
            .collect();
        let held = judged
            .iter()
            .filter(|seen| seen.met > 0)
            .map(|seen| seen.level);
        let failed = judged.iter().filter(|seen| seen.not_met > 0);
        let failed = failed.map(|seen| seen.level);
        let (held, failed) = (held.reduce(f64::max)?, failed.reduce(f64::min)?);
        let from = held.min(failed).ln() - MARGIN;
        let step = (held.max(failed).ln() + MARGIN - from) / f64::from(POINTS);
        let log_level = |point: u32| from + step * (f64::from(point) + 0.5);
        let likelihoods = (0..POINTS).map(|point| log_likelihoods(&judged, log_level(point)));
        let likelihoods: Vec<Vec<f64>> = likelihoods.collect();
        let all = likelihoods.iter().flatten();
        let highest = all.copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = likelihoods.iter().map(|of_point| {
            let of_scatter = of_point.iter();
            of_scatter.map(|log| (log - highest).exp()).sum::<f64>()
        });
        let weights: Vec<f64> = weights.collect();
        let whole: f64 = weights.iter().sum();
        let quantile = |share: f64| log_level(point_below(share * whole, &weights)).exp();
        Some(Self {
            level: quantile(0.5),
            low: quantile(TAIL),
            high: quantile(1.0 - TAIL),
            trials: judged.iter().map(|seen| seen.judged_trials()).sum(),
        })
    }
}

/// The first point up to which the weights add up to the sum; behind all points if they never do.
fn point_below(sum: f64, weights: &[f64]) -> u32 {
    let mut below = 0.0;
    for (point, weight) in (0..POINTS).zip(weights) {
        below += weight;
        if below >= sum {
            return point;
        }
    }
    POINTS
}

/// Of the trials with this median, for each scatter, with its prior.
fn log_likelihoods(judged: &[&LevelSummary], median: f64) -> Vec<f64> {
    let powers = SCATTERS;
    powers
        .map(|power| log_likelihood(judged, median, power))
        .collect()
}

fn log_likelihood(judged: &[&LevelSummary], median: f64, power: i32) -> f64 {
    let scatter = SCATTER * SCATTER_STEP.powi(power);
    let deviation = f64::from(power) * SCATTER_STEP.ln() / SCATTER_SPREAD;
    let of_level = |seen: &&LevelSummary| {
        let holds = normal((median - seen.level.ln()) / scatter);
        let holds = BAD_TRIALS / 2.0 + (1.0 - BAD_TRIALS) * holds;
        f64::from(seen.met) * holds.ln() + f64::from(seen.not_met) * (1.0 - holds).ln()
    };
    judged.iter().map(of_level).sum::<f64>() - deviation * deviation / 2.0
}

/// The normal distribution function, to seven digits (Abramowitz and Stegun 26.2.17).
fn normal(z: f64) -> f64 {
    const TERMS: [f64; 5] = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let upper = density * sum;
    if z > 0.0 { 1.0 - upper } else { upper }
}
