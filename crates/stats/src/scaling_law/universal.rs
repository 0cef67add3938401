//! The Universal Scalability Law: X(N) = γN / (1 + α(N − 1) + βN(N − 1)).

use crate::{
    intervals::estimate::Estimate,
    scaling_law::{
        BandPoint, Coefficient, LAW_REACH, LawSettings, LawTrial, LevelCurve, MIN_EXACT_LEVELS,
        MIN_LAW_LEVELS, NotFitted,
        bootstrap::Resamples,
        form::{Fitted, Form, Law, Shape},
        least_squares::Grid,
        levels::{Level, Levels, Usable},
        quality::FitQuality,
    },
};

/// An efficiency above this is no scaling: the measurement of the lowest level, or of this one, is in doubt.
const MAX_EFFICIENCY: f64 = 1.05;
/// Contention and coherency from which the search for the best ones starts; the coherency as its cost at the highest level, in units
/// of the scale.
const STARTS: [[f64; 7]; 2] = [
    [0.0, 0.003, 0.03, 0.1, 0.3, 0.7, 0.97],
    [0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
];
const LAW: Law = Law {
    form: Form::Universal,
    bounds: [(0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)],
};

/// The law with its coefficients.
#[derive(Debug, Clone, PartialEq)]
pub struct UniversalScalability {
    /// So much of the factor is N = 1: 1, or the lowest level if that is below 1.
    pub unit: f64,
    /// γ: the rate at N = 1.
    pub scale: Coefficient,
    /// α, 0 to 1: the share of work that is done one after the other.
    pub contention: Coefficient,
    /// β, 0 to 1: what N costs by each being in step with each other.
    pub coherency: Coefficient,
    pub peak: Peak,
    /// The level with the highest efficiency, if that is above 1.05.
    pub high_efficiency: Option<HighEfficiency>,
    pub quality: FitQuality,
    pub band: Vec<BandPoint>,
    pub curve: LevelCurve,
}

/// Where the curve is highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Peak {
    At {
        level: f64,
        low: f64,
        /// `None`: beyond twice the highest level.
        high: Option<f64>,
        value: Estimate,
    },
    /// If there is one, then not within twice the highest level, which this is.
    NotWithin(f64),
}

/// The rate over that of the lowest level, for each unit of the factor; 1 is linear scaling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HighEfficiency {
    pub level: f64,
    pub lowest_level: f64,
    pub efficiency: f64,
}

fn starts(highest: f64) -> impl Iterator<Item = Shape> {
    let [contention, costs] = STARTS;
    contention.into_iter().flat_map(move |contention| {
        costs.map(|cost| [contention, (cost / (highest * highest)).min(1.0), 0.0, 0.0])
    })
}

/// Fits the law to a rate over a factor of resources or concurrency.
///
/// # Errors
/// If there are too few levels or values, or none that a curve can go through.
pub fn fit_universal_scalability(
    trials: &[LawTrial],
    settings: &LawSettings<'_>,
) -> Result<UniversalScalability, NotFitted> {
    let usable = Usable {
        min_levels: MIN_LAW_LEVELS,
        min_exact: MIN_EXACT_LEVELS,
        with_zero: false,
        unit: |lowest, _| lowest.min(1.0),
    };
    let levels = Levels::group(trials, settings, usable)?;
    let grid = Grid::new(LAW, &levels, starts(levels.highest() / levels.unit));
    let fit = grid.fit(&levels).ok_or(NotFitted::NothingIdentifiable)?;
    let resamples = Resamples::draw(&levels, &grid, fit, settings);
    let is_at_bound = |value: f64| value <= 0.0 || value >= 1.0;
    Ok(UniversalScalability {
        unit: levels.unit,
        scale: resamples.coefficient(&fit, false, |curve| curve.scale),
        contention: resamples.coefficient(&fit, is_at_bound(fit.shape[0]), |curve| curve.shape[0]),
        coherency: resamples.coefficient(&fit, is_at_bound(fit.shape[1]), |curve| curve.shape[1]),
        peak: peak(&levels, &fit, &resamples),
        high_efficiency: high_efficiency(&levels),
        quality: FitQuality::judge(LAW.form, &levels, &fit),
        band: resamples.band(&levels, &fit, settings.band_at),
        curve: resamples.into_curve(&levels, fit),
    })
}

/// N at the peak; infinite if the curve never falls.
fn peak_at(fit: &Fitted) -> f64 {
    let [contention, coherency, ..] = fit.shape;
    match coherency > 0.0 {
        true => ((1.0 - contention) / coherency).sqrt(),
        false => f64::INFINITY,
    }
}

/// The curve is highest at the lowest level if it falls from there on: nothing is known of lower ones.
fn peak(levels: &Levels, fit: &Fitted, resamples: &Resamples) -> Peak {
    let reach = LAW_REACH * levels.highest();
    let level_of = |curve: &Fitted| (peak_at(curve) * levels.unit).max(levels.lowest());
    let level = level_of(fit);
    if level > reach {
        return Peak::NotWithin(reach);
    }
    let (low, high) = resamples.interval(level_of).unwrap_or((level, level));
    let high = high.max(level);
    let highest = |curve: &Fitted| curve.value(LAW.form, level_of(curve).min(reach) / levels.unit);
    Peak::At {
        level,
        low: low.min(level),
        high: (high <= reach).then_some(high),
        value: resamples.estimate(highest(fit), highest),
    }
}

fn high_efficiency(levels: &Levels) -> Option<HighEfficiency> {
    let first = levels.all.first()?;
    let rate = |level: &Level| levels.restore(level.mean) / level.level;
    let efficiencies = levels.all.iter().map(|level| HighEfficiency {
        level: level.level,
        lowest_level: first.level,
        efficiency: rate(level) / rate(first),
    });
    efficiencies
        .filter(|point| point.efficiency > MAX_EFFICIENCY && point.efficiency.is_finite())
        .max_by(|a, b| a.efficiency.total_cmp(&b.efficiency))
}
