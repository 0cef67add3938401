//! Laws of how a metric changes with a factor: the Universal Scalability Law (Gunther, *Guerrilla Capacity Planning*, 2007) and a
//! power law with a constant, whose exponent may change once. Each is fitted to the trials of six or more levels, with 95 % intervals
//! by bootstrap. `crossing` says where a curve meets a bound or another curve, `difference` how fast two of them part.
//!
//! Errors are relative: rates and times scatter in proportion to their level, so least squares on logarithms gives each trial the
//! same weight. Nothing is said beyond twice the highest level. Words are made elsewhere.

mod bootstrap;
mod broken;
mod crossing;
mod difference;
mod form;
mod least_squares;
mod levels;
mod power;
mod quality;
mod universal;

#[cfg(test)]
mod tests;

use crate::intervals::estimate::{Estimate, Scale};

pub use broken::{BreakPoint, MIN_BREAK_LEVELS};
pub use crossing::{Crossing, LevelCurve};
pub use difference::{DifferenceSlope, difference_slope};
pub use power::{Growth as LawGrowth, PowerLaw, fit_power_law};
pub use quality::FitQuality;
pub use universal::{HighEfficiency, Peak, UniversalScalability, fit_universal_scalability};

/// A law has three coefficients; fewer levels than this leave too little to judge it by.
pub const MIN_LAW_LEVELS: usize = 6;
/// Nothing is said of levels beyond so many times the highest one.
pub const LAW_REACH: f64 = 2.0;
/// Resamples of the bootstrap.
pub const LAW_RESAMPLES: usize = 500;

/// Fewer levels than this whose value is known exactly leave the coefficients open, whatever the others are bounded by.
pub const MIN_EXACT_LEVELS: usize = 4;

/// The value of one trial at one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawTrial {
    pub level: f64,
    pub value: f64,
    /// The value is a bound of the system's own; the trials of a level have the same one. A curve on the other side of it is as good as
    /// one through it.
    pub bound: Option<LawBound>,
}

impl LawTrial {
    /// A value that is known exactly.
    #[must_use]
    pub fn exact(level: f64, value: f64) -> Self {
        Self {
            level,
            value,
            bound: None,
        }
    }
}

/// On which side of its value the system's own lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LawBound {
    AtLeast,
    AtMost,
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
    /// Fewer than [`MIN_EXACT_LEVELS`] levels have values that are no bounds.
    TooFewExactLevels(usize),
    /// A level is not above 0, which the Universal Scalability Law needs, or is not finite.
    LevelNotPositive,
    /// A level is below 0 or not finite.
    LevelBelowZero,
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
