//! The bootstrap of a law: what its coefficients would be with other trials of the same levels.
//!
//! Trials are resampled within their level. A resample of m trials scatters by a factor sqrt((m - 1) / m) too little, and normal
//! quantiles are too near for few trials: offsets are enlarged for both (Davison and Hinkley, *Bootstrap Methods and their
//! Application*, 1997, section 2.3; Hesterberg, *The American Statistician* 69, 2015). If the levels are farther from the curve than
//! their trials explain, offsets are enlarged by the ratio of the two (Birge, *Physical Review* 40, 1932).
//!
//! Without scatter of trials (one trial at each level), the distances of the levels from the curve are resampled instead.

use crate::{
    arithmetic::{random::Random, sample::size, student::critical_95},
    intervals::estimate::Estimate,
    scaling_law::{
        BandPoint, Coefficient, LAW_REACH, LawSettings, LevelCurve,
        form::{Fitted, Form},
        least_squares::Grid,
        levels::{Level, Levels},
        quality::Misfit,
    },
};

/// How many standard errors a 95 % interval of a normal distribution reaches to either side.
pub(super) const NORMAL_95: f64 = 1.959_964;
const TAIL: f64 = 0.025;

/// Coefficients of each resample.
pub(super) struct Resamples {
    form: Form,
    all: Vec<Fitted>,
    trials: usize,
}

impl Resamples {
    pub(super) fn draw(
        levels: &Levels,
        grid: &Grid,
        fit: Fitted,
        settings: &LawSettings<'_>,
    ) -> Self {
        let form = grid.law.form;
        let misfit = Misfit::measure(form, levels, &fit);
        let mut random = Random::from_seed(settings.seed);
        let mut all = Vec::new();
        for _ in 0..settings.resamples {
            let means: Vec<f64> = match misfit.ratio {
                Some(ratio) => trials_means(levels, spread(form, &misfit, ratio), &mut random),
                None => residual_means(form, levels, &fit, misfit.level_degrees, &mut random),
            };
            all.extend(grid.fit_near(&levels.with_means(means.into_iter()), fit));
        }
        Self {
            form,
            all,
            trials: levels.trials,
        }
    }

    /// The middle 95 % of what each resample has; a value that is not a number is left out.
    pub(super) fn interval(&self, pick: impl Fn(&Fitted) -> f64) -> Option<(f64, f64)> {
        middle_95(self.all.iter().map(pick))
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

    /// The curve with its interval, at levels that are not beyond the reach of the law. A curve that falls from a level of 0 ends
    /// where it would be 0.
    pub(super) fn band(&self, levels: &Levels, fit: &Fitted, band_at: &[f64]) -> Vec<BandPoint> {
        let reach = LAW_REACH * levels.highest();
        let is_said =
            |level: &&f64| (**level > 0.0 || levels.has_zero()) && (0.0..=reach).contains(*level);
        let said = band_at.iter().filter(is_said);
        let points = said.map(|level| self.band_point(*level, levels, fit));
        points.take_while(|point| point.low >= 0.0).collect()
    }

    fn band_point(&self, level: f64, levels: &Levels, fit: &Fitted) -> BandPoint {
        let value = |curve: &Fitted| curve.value(self.form, level / levels.unit);
        let (point, ends) = (value(fit), self.interval(value));
        let (low, high) = ends.unwrap_or((point, point));
        BandPoint {
            level,
            value: point,
            low: low.min(point),
            high: high.max(point),
        }
    }

    pub(super) fn coefficient(
        &self,
        fit: &Fitted,
        is_at_bound: bool,
        pick: impl Fn(&Fitted) -> f64,
    ) -> Coefficient {
        Coefficient {
            estimate: self.estimate(pick(fit), pick),
            is_at_bound,
        }
    }

    /// The curve at any level, with those of the resamples.
    pub(super) fn into_curve(self, levels: &Levels, fit: Fitted) -> LevelCurve {
        LevelCurve::from_law(levels, self.form, [vec![fit], self.all].concat())
    }
}

/// The middle 95 % of values; those that are not numbers are left out. `None` without any.
pub(super) fn middle_95(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the last place is a place"
    )]
    let quantile = |share: f64| values[(share * size(last)).round() as usize];
    Some((quantile(TAIL), quantile(1.0 - TAIL)))
}

/// By how much the offsets of trials are enlarged. The levels' own distances from a curve of five coefficients leave few degrees of
/// freedom: if they are the larger ones, Student's t has these.
fn spread(form: Form, misfit: &Misfit, ratio: f64) -> f64 {
    let of_trials = critical_95(misfit.trial_degrees);
    let of_levels = match form {
        Form::Broken => critical_95(misfit.level_degrees),
        Form::Universal | Form::Power => of_trials,
    };
    of_trials.max(ratio.sqrt() * of_levels) / NORMAL_95
}

/// The mean of each level over trials drawn from its own.
pub(super) fn trials_means(levels: &Levels, spread: f64, random: &mut Random) -> Vec<f64> {
    let levels = levels.all.iter();
    levels
        .map(|level| trials_mean(level, spread, random))
        .collect()
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
fn residual_means(
    form: Form,
    levels: &Levels,
    fit: &Fitted,
    degrees: f64,
    random: &mut Random,
) -> Vec<f64> {
    let curve = |level: &Level| levels.transform(fit.value(form, level.x));
    let off: Vec<f64> = levels
        .all
        .iter()
        .map(|level| level.deviation(curve(level)))
        .collect();
    let spread = (size(off.len()) / degrees).sqrt() * critical_95(degrees) / NORMAL_95;
    levels
        .all
        .iter()
        .map(|level| curve(level) + spread * off[random.next_below(off.len())])
        .collect()
}
