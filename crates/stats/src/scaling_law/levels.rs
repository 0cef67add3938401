//! Trials of a law, put together by level.

use std::collections::BTreeMap;

use crate::{
    arithmetic::sample::{mean, size, squares_about},
    scaling_law::{Errors, LawBound, LawSettings, LawTrial, NotFitted},
};

/// The trials of one level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    /// As the study has it.
    pub(super) level: f64,
    /// The level in the unit of the law.
    pub(super) x: f64,
    /// Mean of the transformed values: of the logarithms, if errors are relative.
    pub(super) mean: f64,
    /// The mean is a bound.
    pub(super) bound: Option<LawBound>,
    /// How far each trial's transformed value is from the mean.
    pub(super) offsets: Vec<f64>,
}

/// All levels of a fit, ascending.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Levels {
    pub(super) all: Vec<Level>,
    pub(super) errors: Errors,
    /// So much of the factor is 1 in the unit of the law.
    pub(super) unit: f64,
    pub(super) trials: usize,
}

/// Which levels can be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usable {
    pub(super) min_levels: usize,
    /// Of those that are no bounds, if some are.
    pub(super) min_exact: usize,
    pub(super) with_zero: bool,
    /// Chooses the unit by the lowest and the highest level.
    pub(super) unit: fn(f64, f64) -> f64,
}

impl Level {
    pub(super) fn weight(&self) -> f64 {
        size(self.offsets.len())
    }

    /// How far the mean is from a curve, as it is fitted; 0 if it is a bound and the curve is on the side that it leaves open.
    pub(super) fn deviation(&self, curve: f64) -> f64 {
        let off = self.mean - curve;
        match self.bound {
            None => off,
            Some(LawBound::AtLeast) => off.max(0.0),
            Some(LawBound::AtMost) => off.min(0.0),
        }
    }
}

impl Usable {
    fn refusal(&self, trial: &LawTrial) -> Option<NotFitted> {
        let LawTrial { level, value, .. } = *trial;
        let is_level = level.is_finite() && (level > 0.0 || (self.with_zero && level == 0.0));
        match () {
            () if !is_level && self.with_zero => Some(NotFitted::LevelBelowZero),
            () if !is_level => Some(NotFitted::LevelNotPositive),
            () if !(value >= 0.0 && value.is_finite()) => Some(NotFitted::ValueNotUsable),
            () => None,
        }
    }
}

impl Levels {
    pub(super) fn group(
        trials: &[LawTrial],
        settings: &LawSettings<'_>,
        usable: Usable,
    ) -> Result<Self, NotFitted> {
        let mut by_level: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut bounds: BTreeMap<u64, LawBound> = BTreeMap::new();
        for trial in trials {
            if let Some(refusal) = usable.refusal(trial) {
                return Err(refusal);
            }
            // Bits of numbers that are not below 0 are ordered as the numbers are; the sum makes 0 of -0.
            let level = (trial.level + 0.0).to_bits();
            by_level.entry(level).or_default().push(trial.value);
            bounds.extend(trial.bound.map(|bound| (level, bound)));
        }
        if by_level.len() < usable.min_levels {
            return Err(NotFitted::TooFewLevels(by_level.len()));
        }
        let exact = by_level.len() - bounds.len();
        if !bounds.is_empty() && exact < usable.min_exact {
            return Err(NotFitted::TooFewExactLevels(exact));
        }
        if trials.iter().all(|trial| trial.value == 0.0) {
            return Err(NotFitted::NothingAboveZero);
        }
        let ends = by_level.keys().next().zip(by_level.keys().next_back());
        let unit = ends.map_or(1.0, |(low, high)| {
            (usable.unit)(f64::from_bits(*low), f64::from_bits(*high))
        });
        let all_values: Vec<f64> = by_level.values().flatten().copied().collect();
        let mut transformed = match settings.errors {
            Errors::Relative => settings.scale.logs(&all_values),
            Errors::Absolute => all_values,
        }
        .into_iter();
        let mut all = Vec::new();
        for (level, values) in &by_level {
            let level_values: Vec<f64> = transformed.by_ref().take(values.len()).collect();
            let middle = mean(&level_values);
            let bound = bounds.get(level).copied();
            let level = f64::from_bits(*level);
            all.push(Level {
                level,
                x: level / unit,
                mean: middle,
                bound,
                offsets: level_values.iter().map(|value| value - middle).collect(),
            });
        }
        Ok(Self {
            all,
            errors: settings.errors,
            unit,
            trials: trials.len(),
        })
    }

    pub(super) fn lowest(&self) -> f64 {
        self.all.first().map_or(1.0, |level| level.level)
    }

    pub(super) fn highest(&self) -> f64 {
        self.all.last().map_or(1.0, |level| level.level)
    }

    pub(super) fn has_zero(&self) -> bool {
        self.lowest() == 0.0
    }

    /// Those above 0.
    pub(super) fn above_zero(&self) -> &[Level] {
        &self.all[usize::from(self.has_zero())..]
    }

    /// A value as it is fitted.
    pub(super) fn transform(&self, value: f64) -> f64 {
        match self.errors {
            Errors::Relative => value.ln(),
            Errors::Absolute => value,
        }
    }

    /// Back to a value.
    pub(super) fn restore(&self, transformed: f64) -> f64 {
        match self.errors {
            Errors::Relative => transformed.exp(),
            Errors::Absolute => transformed,
        }
    }

    /// How many levels have a value that is no bound.
    pub(super) fn exact(&self) -> usize {
        self.all
            .iter()
            .filter(|level| level.bound.is_none())
            .count()
    }

    /// Of the trials within their levels: sum of squares and degrees of freedom.
    pub(super) fn scatter(&self) -> (f64, f64) {
        let squares = self
            .all
            .iter()
            .map(|level| squares_about(&level.offsets, 0.0));
        (squares.sum(), size(self.trials - self.all.len()))
    }

    /// The same levels with other means.
    pub(super) fn with_means(&self, means: impl Iterator<Item = f64>) -> Self {
        let levels = self.all.iter().zip(means);
        let all = levels.map(|(level, mean)| Level {
            mean,
            ..level.clone()
        });
        Self {
            all: all.collect(),
            ..*self
        }
    }
}
