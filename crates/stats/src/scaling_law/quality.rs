//! How well a law fits the levels.

use crate::{
    arithmetic::{sample::size, student::f_tail},
    scaling_law::{
        form::{Fitted, Form},
        least_squares::sum_of_squares,
        levels::Levels,
    },
};

/// A level this far from the curve contradicts the law, if chance does not explain it.
const MAX_DEVIATION: f64 = 0.15;
/// Of chance that the levels are so far from the curve.
const MAX_P_VALUE: f64 = 0.01;

/// How far the levels are from the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitQuality {
    /// Root of the mean square of the levels' distances from the curve, as a share of the curve.
    pub deviation: f64,
    /// The level that is farthest from the curve.
    pub farthest_level: f64,
    /// Its mean over the curve's value there, less 1: below 0 if the curve is above it.
    pub farthest: f64,
    /// Probability that the scatter of the trials alone takes the levels so far from the curve, by an F test; `None` without several
    /// trials at a level.
    pub p_value: Option<f64>,
    /// False if a level is more than 15 % from the curve, and this is not chance. Then the law does not hold, and its coefficients
    /// describe nothing.
    pub holds: bool,
}

/// Scatter about the curve over scatter of the trials.
#[derive(Debug, Clone, Copy)]
pub(super) struct Misfit {
    /// Mean squares of the levels about the curve, over those of the trials about their level; `None` without scatter of trials.
    pub(super) ratio: Option<f64>,
    /// Of the levels about the curve.
    pub(super) level_degrees: f64,
    /// Of the trials about their level.
    pub(super) trial_degrees: f64,
}

impl Misfit {
    pub(super) fn measure(form: Form, levels: &Levels, fit: &Fitted) -> Self {
        // A bound is kept for nothing: it adds no degree of freedom.
        let exact = levels.exact().saturating_sub(form.coefficients());
        let level_degrees = size(exact.max(1));
        let (scatter, trial_degrees) = levels.scatter();
        let about_curve = sum_of_squares(form, levels, fit) / level_degrees;
        let ratio = about_curve / (scatter / trial_degrees);
        Self {
            ratio: (trial_degrees > 0.0 && ratio.is_finite()).then_some(ratio),
            level_degrees,
            trial_degrees,
        }
    }

    /// Probability that the scatter of the trials alone takes the levels so far from the curve; `None` without it.
    pub(super) fn p_value(&self) -> Option<f64> {
        let degrees = (self.level_degrees, self.trial_degrees);
        self.ratio.map(|ratio| f_tail(ratio, degrees))
    }
}

impl FitQuality {
    pub(super) fn judge(form: Form, levels: &Levels, fit: &Fitted) -> Self {
        let relative = |level: &super::levels::Level| {
            let value = fit.value(form, level.x);
            let curve = levels.transform(value);
            levels.restore(curve + level.deviation(curve)) / value - 1.0
        };
        let off: Vec<(f64, f64)> = levels
            .all
            .iter()
            .map(|level| (level.level, relative(level)))
            .collect();
        let squares: f64 = off.iter().map(|(_, off)| off * off).sum();
        let (farthest_level, farthest) = off
            .iter()
            .copied()
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
            .unwrap_or_default();
        let misfit = Misfit::measure(form, levels, fit);
        let p_value = misfit.p_value();
        let is_chance = p_value.is_none_or(|p_value| p_value > MAX_P_VALUE);
        Self {
            deviation: (squares / size(off.len())).sqrt(),
            farthest_level,
            farthest,
            p_value,
            holds: is_chance || farthest.abs() <= MAX_DEVIATION,
        }
    }
}
