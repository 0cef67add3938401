//! A power law with a constant: a + b·n^k, with a and b not below 0.
//!
//! It is fitted as c·(s + (1 − s)·x^k), where x is the level over the highest one: c is the value there, and s the constant's share
//! of it. A constant below 0 would make the exponent say nothing of growth, and a time has none.
//!
//! A level of 0 has the value a. Then k is not below 0, where the curve would have no end at 0; what falls from there on has b below
//! 0, and is said of the levels alone.

use crate::{
    intervals::estimate::Estimate,
    scaling_law::{
        BandPoint, Coefficient, Errors, LawSettings, LawTrial, LevelCurve, MIN_EXACT_LEVELS,
        MIN_LAW_LEVELS, NotFitted,
        bootstrap::Resamples,
        broken::{self, BreakPoint},
        form::{Fitted, Form, Law, Shape},
        least_squares::Grid,
        levels::{Levels, Usable},
        quality::FitQuality,
    },
};

/// A steeper curve is a step between two levels, which has no exponent.
pub(super) const MAX_EXPONENT: f64 = 5.0;
/// With a level of 0: the value there over that at the highest level, at most.
const MAX_FALL: f64 = 1_000.0;
/// A change from the lowest to the highest level within this factor is none: as for a level that is steady.
const FLAT: f64 = 1.05;
/// Exponents this near to 1 are linear.
const LINEAR: (f64, f64) = (0.9, 1.1);
/// Shares and exponents from which the search for the best ones starts.
const STARTS: (&[f64], &[f64]) = (
    &[0.0, 0.03, 0.3, 0.7, 0.95],
    &[
        -3.0, -1.5, -0.8, -0.3, 0.1, 0.4, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5,
    ],
);
/// The same with a level of 0.
const STARTS_WITH_ZERO: (&[f64], &[f64]) = (
    &[0.0003, 0.003, 0.03, 0.3, 0.7, 0.95, 1.05, 2.0, 10.0],
    &[0.1, 0.4, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5],
);

/// The law with its coefficients, as for levels in the unit of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLaw {
    /// a; at its bound if it is 0.
    pub constant: Coefficient,
    /// b; at its bound if it is 0.
    pub factor: Coefficient,
    /// k, -5 to 5; up to the break, if there is one.
    pub exponent: Coefficient,
    /// From which level on it has another exponent.
    pub break_point: Option<BreakPoint>,
    /// The curve at the highest level over that at the lowest.
    pub change: Estimate,
    /// By the last exponent.
    pub growth: Growth,
    pub quality: FitQuality,
    pub band: Vec<BandPoint>,
    pub curve: LevelCurve,
}

/// How the value grows, as far as the intervals say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// The interval of the change is within 5 %.
    Flat,
    /// The interval of the change is below 1.
    Falls,
    /// It grows, and the interval of the exponent is within 0.9 to 1.1.
    Linear,
    /// It grows, and the interval of the exponent is above 1.
    WorseThanLinear,
    /// It grows, and the interval of the exponent is below 1.
    BetterThanLinear,
    /// It grows, but the interval of the exponent has room for both.
    Grows,
    /// The interval of the change includes 1, and is too wide for flat.
    Undecided,
    /// The law does not hold: see its quality.
    OtherShape,
}

fn law(levels: &Levels) -> Law {
    let [share, exponent] = match levels.has_zero() {
        true => [(0.0, MAX_FALL), (0.0, MAX_EXPONENT)],
        false => [(0.0, 1.0), (-MAX_EXPONENT, MAX_EXPONENT)],
    };
    Law {
        form: Form::Power,
        bounds: [share, exponent, (0.0, 0.0), (0.0, 0.0)],
    }
}

fn starts(levels: &Levels) -> impl Iterator<Item = Shape> {
    let (shares, exponents) = match levels.has_zero() {
        true => STARTS_WITH_ZERO,
        false => STARTS,
    };
    shares.iter().flat_map(move |share| {
        let exponents = exponents.iter();
        exponents.map(move |exponent| [*share, *exponent, 0.0, 0.0])
    })
}

/// Fits the law to a time, or to anything else that may grow with the factor: with a break, if that is clearly better.
///
/// # Errors
/// If there are too few levels or values, or none that a curve can go through.
pub fn fit_power_law(
    trials: &[LawTrial],
    settings: &LawSettings<'_>,
) -> Result<PowerLaw, NotFitted> {
    let usable = Usable {
        min_levels: MIN_LAW_LEVELS,
        min_exact: MIN_EXACT_LEVELS,
        with_zero: true,
        unit: |_, highest| highest,
    };
    let levels = Levels::group(trials, settings, usable)?;
    let grid = Grid::new(law(&levels), &levels, starts(&levels));
    let fit = grid.fit(&levels).ok_or(NotFitted::NothingIdentifiable)?;
    let broken = match settings.errors {
        Errors::Relative => broken::fit(&levels, &fit, settings),
        Errors::Absolute => None,
    };
    Ok(broken.unwrap_or_else(|| simple(&levels, &grid, fit, settings)))
}

fn simple(levels: &Levels, grid: &Grid, fit: Fitted, settings: &LawSettings<'_>) -> PowerLaw {
    let resamples = Resamples::draw(levels, grid, fit, settings);
    let [share, exponent, ..] = fit.shape;
    let [(_, _), (least, most), ..] = grid.law.bounds;
    let is_at_bound = exponent <= least || exponent >= most;
    let exponent = resamples.coefficient(&fit, is_at_bound, |curve| curve.shape[1]);
    let factor =
        |curve: &Fitted| curve.scale * (1.0 - curve.shape[0]) * levels.unit.powf(-curve.shape[1]);
    let has_no_factor = share >= 1.0 && !levels.has_zero();
    let change = change(Form::Power, levels, &resamples, &fit);
    let quality = FitQuality::judge(Form::Power, levels, &fit);
    PowerLaw {
        constant: resamples.coefficient(&fit, share <= 0.0, |curve| curve.scale * curve.shape[0]),
        factor: resamples.coefficient(&fit, has_no_factor, factor),
        exponent,
        break_point: None,
        change,
        growth: growth(&change, &exponent.estimate, &quality),
        quality,
        band: resamples.band(levels, &fit, settings.band_at),
        curve: resamples.into_curve(levels, fit),
    }
}

/// The curve at the highest level over that at the lowest.
pub(super) fn change(form: Form, levels: &Levels, resamples: &Resamples, fit: &Fitted) -> Estimate {
    let lowest = levels.lowest() / levels.unit;
    let change = |curve: &Fitted| curve.value(form, 1.0) / curve.value(form, lowest);
    resamples.estimate(change(fit), change)
}

/// What the intervals of the change and of the exponent show.
pub(super) fn growth(change: &Estimate, exponent: &Estimate, quality: &FitQuality) -> Growth {
    let (Some((low, high)), Some((slowest, fastest))) = (change.interval, exponent.interval) else {
        return Growth::Undecided;
    };
    match () {
        () if low >= 1.0 / FLAT && high <= FLAT => Growth::Flat,
        () if !quality.holds => Growth::OtherShape,
        () if high < 1.0 => Growth::Falls,
        () if low <= 1.0 => Growth::Undecided,
        () if slowest >= LINEAR.0 && fastest <= LINEAR.1 => Growth::Linear,
        () if slowest > 1.0 => Growth::WorseThanLinear,
        () if fastest < 1.0 => Growth::BetterThanLinear,
        () => Growth::Grows,
    }
}
