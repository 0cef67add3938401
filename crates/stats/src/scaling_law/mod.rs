//! Laws of how a metric changes with a factor: the Universal Scalability Law (Gunther, *Guerrilla Capacity Planning*, 2007) and a
//! power law with a constant. Each is fitted to the trials of six or more levels, with 95 % intervals by bootstrap.
//!
//! Errors are relative: rates and times scatter in proportion to their level, so least squares on logarithms gives each trial the
//! same weight. Nothing is said beyond twice the highest level. Words are made elsewhere.

mod bootstrap;
mod least_squares;
mod levels;
mod power;
mod quality;
mod universal;

#[cfg(test)]
mod tests;

use crate::{Estimate, Scale};

pub use power::{Growth as LawGrowth, PowerLaw, fit_power_law};
pub use quality::FitQuality;
pub use universal::{HighEfficiency, Peak, UniversalScalability, fit_universal_scalability};

/// A law has three coefficients; fewer levels than this leave too little to judge it by.
pub const MIN_LAW_LEVELS: usize = 6;
/// Nothing is said of levels beyond so many times the highest one.
pub const LAW_REACH: f64 = 2.0;
/// Resamples of the bootstrap.
pub const LAW_RESAMPLES: usize = 500;

/// The value of one trial at one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawTrial {
    pub level: f64,
    pub value: f64,
}

/// What the law is fitted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// Least squares of logarithms: for what scatters in proportion to its level.
    Relative,
    /// Plain least squares, as most published coefficients have it.
    Absolute,
}

/// How a law is fitted.
#[derive(Debug, Clone, Copy)]
pub struct LawSettings<'a> {
    pub errors: Errors,
    /// Of the values; one below the resolution counts as the resolution.
    pub scale: Scale,
    pub resamples: usize,
    /// The same seed gives the same intervals.
    pub seed: u64,
    /// The levels at which the band is given; those beyond the reach of the law are left out.
    pub band_at: &'a [f64],
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFitted {
    /// Fewer than [`MIN_LAW_LEVELS`] levels have values.
    TooFewLevels(usize),
    /// A level is not above 0, or is not finite.
    LevelNotPositive,
    /// A value is below 0 or not finite.
    ValueNotUsable,
    /// All values are 0.
    NothingAboveZero,
    /// No coefficients come near the values.
    NothingIdentifiable,
}

/// A coefficient with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    pub estimate: Estimate,
    /// It is at the end of what it may be: the data would have it beyond that.
    pub is_at_bound: bool,
}

/// The curve at one level, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandPoint {
    pub level: f64,
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A law as a function: a scale that multiplies a shape of two coefficients.
pub(crate) trait Law {
    /// Lowest and highest value of the two coefficients of the shape.
    const BOUNDS: [(f64, f64); 2];
    /// Coefficients of the shape from which the search for the best ones starts.
    const STARTS: [&'static [f64]; 2];

    /// The shape at `x`, above 0.
    fn shape(coefficients: [f64; 2], x: f64) -> f64;

    /// Its derivatives by the two coefficients.
    fn gradient(coefficients: [f64; 2], x: f64) -> [f64; 2];

    /// A coefficient to start from, of a fit to levels up to `highest`.
    fn start(values: [f64; 2], highest: f64) -> [f64; 2];
}

/// The coefficients of a fit: the scale, then those of the shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    pub(crate) scale: f64,
    pub(crate) shape: [f64; 2],
}

impl Fitted {
    pub(crate) fn value<L: Law>(&self, x: f64) -> f64 {
        self.scale * L::shape(self.shape, x)
    }
}
