//! The bootstrap of a law: what its coefficients would be with other trials of the same levels.
//!
//! Trials are resampled within their level. A resample of m trials scatters by a factor sqrt((m - 1) / m) too little, and normal
//! quantiles are too near for few trials: offsets are enlarged for both (Davison and Hinkley, *Bootstrap Methods and their
//! Application*, 1997, section 2.3; Hesterberg, *The American Statistician* 69, 2015). If the levels are farther from the curve than
//! their trials explain, offsets are enlarged by the ratio of the two (Birge, *Physical Review* 40, 1932).
//!
//! Without scatter of trials (one trial at each level), the distances of the levels from the curve are resampled instead.

use super::{
    BandPoint, Coefficient, Fitted, LAW_REACH, Law, LawSettings,
    least_squares::Grid,
    levels::{Level, Levels},
    quality::Misfit,
};
use crate::{Estimate, random::Random, sample::size, student::critical_95};

/// How many standard errors a 95 % interval of a normal distribution reaches to either side.
const NORMAL_95: f64 = 1.959_964;
const TAIL: f64 = 0.025;

/// Coefficients of each resample.
pub(super) struct Resamples {
    all: Vec<Fitted>,
    trials: usize,
}

impl Resamples {
    pub(super) fn draw<L: Law>(
        levels: &Levels,
        grid: &Grid,
        at: Fitted,
        settings: &LawSettings<'_>,
    ) -> Self {
        let misfit = Misfit::measure::<L>(levels, &at);
        let mut random = Random::from_seed(settings.seed);
        let draw = |random: &mut Random| {
            let means: Vec<f64> = match misfit.ratio {
                Some(ratio) => {
                    let spread =
                        ratio.max(1.0).sqrt() * critical_95(misfit.trial_degrees) / NORMAL_95;
                    let levels = levels.all.iter();
                    levels
                        .map(|level| trials_mean(level, spread, random))
                        .collect()
                }
                None => residual_means::<L>(levels, &at, misfit.level_degrees, random),
            };
            grid.fit_near::<L>(&levels.with_means(means.into_iter()), at)
        };
        Self {
            all: (0..settings.resamples)
                .filter_map(|_| draw(&mut random))
                .collect(),
            trials: levels.trials,
        }
    }

    /// The middle 95 % of what each resample has; a value that is not a number is left out.
    pub(super) fn interval(&self, pick: impl Fn(&Fitted) -> f64) -> Option<(f64, f64)> {
        let mut values: Vec<f64> = self.all.iter().map(pick).collect();
        values.retain(|value| !value.is_nan());
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the last place is a place"
        )]
        let at = |share: f64| values[(share * size(last)).round() as usize];
        Some((at(TAIL), at(1.0 - TAIL)))
    }

    /// A point with its interval, which includes the point.
    pub(super) fn estimate(&self, point: f64, pick: impl Fn(&Fitted) -> f64) -> Estimate {
        let interval = self.interval(pick);
        Estimate {
            point,
            interval: interval.map(|(low, high)| (low.min(point), high.max(point))),
            count: self.trials,
            least: None,
        }
    }

    /// The curve with its interval, at levels that are not beyond the reach of the law.
    pub(super) fn band<L: Law>(
        &self,
        levels: &Levels,
        at: &Fitted,
        band_at: &[f64],
    ) -> Vec<BandPoint> {
        let reach = LAW_REACH * levels.highest();
        let is_said = |level: &&f64| **level > 0.0 && **level <= reach;
        let point = |level: &f64| {
            let value = |one: &Fitted| one.value::<L>(level / levels.unit);
            let (point, ends) = (value(at), self.interval(value));
            let (low, high) = ends.unwrap_or((point, point));
            BandPoint {
                level: *level,
                value: point,
                low: low.min(point),
                high: high.max(point),
            }
        };
        band_at.iter().filter(is_said).map(point).collect()
    }

    pub(super) fn coefficient(
        &self,
        at: &Fitted,
        is_at_bound: bool,
        pick: impl Fn(&Fitted) -> f64,
    ) -> Coefficient {
        Coefficient {
            estimate: self.estimate(pick(at), pick),
            is_at_bound,
        }
    }
}

/// The mean of as many trials drawn from those of the level.
fn trials_mean(level: &Level, spread: f64, random: &mut Random) -> f64 {
    let count = level.offsets.len();
    if count < 2 {
        return level.mean;
    }
    let sum: f64 = (0..count)
        .map(|_| level.offsets[random.next_below(count)])
        .sum();
    let small_sample = (size(count) / size(count - 1)).sqrt();
    level.mean + spread * small_sample * sum / size(count)
}

/// The curve at each level, off by the distance of a level that is drawn.
fn residual_means<L: Law>(
    levels: &Levels,
    at: &Fitted,
    degrees: f64,
    random: &mut Random,
) -> Vec<f64> {
    let curve = |level: &Level| levels.transform(at.value::<L>(level.x));
    let off: Vec<f64> = levels
        .all
        .iter()
        .map(|level| level.mean - curve(level))
        .collect();
    let spread = (size(off.len()) / degrees).sqrt() * critical_95(degrees) / NORMAL_95;
    levels
        .all
        .iter()
        .map(|level| curve(level) + spread * off[random.next_below(off.len())])
        .collect()
}
