//! A power law with a constant: a + b·n^k, with a and b not below 0.
//!
//! It is fitted as c·(s + (1 − s)·x^k), where x is the level over the highest one: c is the value there, and s the constant's share
//! of it. A constant below 0 would make the exponent say nothing of growth, and a time has none.

use super::{
    BandPoint, Coefficient, Fitted, Law, LawSettings, LawTrial, NotFitted, bootstrap::Resamples,
    least_squares::Grid, levels::Levels, quality::FitQuality,
};
use crate::Estimate;

/// A steeper curve is a step between two levels, which has no exponent.
const MAX_EXPONENT: f64 = 5.0;
/// A change from the lowest to the highest level within this factor is none: as for a level that is steady.
const FLAT: f64 = 1.05;
/// Exponents this near to 1 are linear.
const LINEAR: (f64, f64) = (0.9, 1.1);

/// The law with its coefficients, as for levels in the unit of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLaw {
    /// a; at its bound if it is 0.
    pub constant: Coefficient,
    /// b; at its bound if it is 0.
    pub factor: Coefficient,
    /// k, -5 to 5.
    pub exponent: Coefficient,
    /// The curve at the highest level over that at the lowest.
    pub change: Estimate,
    pub growth: Growth,
    pub quality: FitQuality,
    pub band: Vec<BandPoint>,
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

struct Power;

impl Law for Power {
    const BOUNDS: [(f64, f64); 2] = [(0.0, 1.0), (-MAX_EXPONENT, MAX_EXPONENT)];
    const STARTS: [&'static [f64]; 2] = [
        &[0.0, 0.03, 0.3, 0.7, 0.95],
        &[
            -3.0, -1.5, -0.8, -0.3, 0.1, 0.4, 0.7, 1.0, 1.4, 2.0, 3.0, 4.5,
        ],
    ];

    fn shape([share, exponent]: [f64; 2], x: f64) -> f64 {
        share + (1.0 - share) * x.powf(exponent)
    }

    fn gradient([share, exponent]: [f64; 2], x: f64) -> [f64; 2] {
        let power = x.powf(exponent);
        [1.0 - power, (1.0 - share) * power * x.ln()]
    }

    fn start(values: [f64; 2], _highest: f64) -> [f64; 2] {
        values
    }
}

/// Fits the law to a time, or to anything else that may grow with the factor.
///
/// # Errors
/// If there are too few levels or values, or none that a curve can go through.
pub fn fit_power_law(
    trials: &[LawTrial],
    settings: &LawSettings<'_>,
) -> Result<PowerLaw, NotFitted> {
    let levels = Levels::group(trials, settings, |_, highest| highest)?;
    let grid = Grid::new::<Power>(&levels);
    let at = grid
        .fit::<Power>(&levels)
        .ok_or(NotFitted::NothingIdentifiable)?;
    let resamples = Resamples::draw::<Power>(&levels, &grid, at, settings);
    let constant = |one: &Fitted| one.scale * one.shape[0];
    let factor = |one: &Fitted| one.scale * (1.0 - one.shape[0]) * levels.unit.powf(-one.shape[1]);
    let lowest = levels.lowest() / levels.unit;
    let change = |one: &Fitted| one.value::<Power>(1.0) / one.value::<Power>(lowest);
    let [share, exponent] = at.shape;
    let exponent = resamples.coefficient(&at, exponent.abs() >= MAX_EXPONENT, |one| one.shape[1]);
    let change = resamples.estimate(change(&at), change);
    let quality = FitQuality::judge::<Power>(&levels, &at);
    Ok(PowerLaw {
        constant: resamples.coefficient(&at, share <= 0.0, constant),
        factor: resamples.coefficient(&at, share >= 1.0, factor),
        exponent,
        change,
        growth: growth(&change, &exponent.estimate, &quality),
        quality,
        band: resamples.band::<Power>(&levels, &at, settings.band_at),
    })
}

fn growth(change: &Estimate, exponent: &Estimate, quality: &FitQuality) -> Growth {
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
