//! The search for the highest level of the load at which conditions hold.

use serde::{Deserialize, Serialize};

use crate::{LevelKind, Threshold};

/// A search in every cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The level that is searched for.
    pub maximize: LevelKind,
    /// A trial holds if all of them do; at least one.
    pub conditions: Vec<Threshold>,
    /// The first level, and the bounds of those that are tried: `0 < min <= start <= max`; whole numbers but for a rate.
    pub start: f64,
    pub min: f64,
    pub max: f64,
    /// How close the ends of the answer come, as a share of the lower.
    pub precision: f64,
    /// Trials that must hold at the level that is the answer.
    pub confirmations: u32,
    /// Of a cell, over all levels; those planned that the search does not need are never run.
    pub max_trials: u32,
    /// As many connections as the load of a search for a rate may get, if its own are the limit; `None`: users and connections are
    /// the level itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u32>,
    /// `None`: a cell has no trials but those of its search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_points: Option<OperatingPoints>,
}

/// Further trials of each cell, at shares of the capacity that its search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatingPoints {
    /// At least one, each once; above 0 and at most 1.
    pub shares: Vec<f64>,
    /// Trials of a cell at each of them.
    pub repeat: u32,
}

impl OperatingPoints {
    /// Trials of a cell at all of them.
    #[must_use]
    pub fn trials(&self) -> u32 {
        let shares = u32::try_from(self.shares.len()).unwrap_or(u32::MAX);
        shares.saturating_mul(self.repeat)
    }
}

impl Search {
    /// Trials of a cell at operating points.
    #[must_use]
    pub fn operating_trials(&self) -> u32 {
        let points = self.operating_points.as_ref();
        points.map_or(0, OperatingPoints::trials)
    }

    /// The most trials of a cell: repetitions up to `max_trials` are steps of the search, those behind them are at operating points.
    #[must_use]
    pub fn trials(&self) -> u32 {
        self.max_trials.saturating_add(self.operating_trials())
    }

    /// The place of a trial's operating point among the shares, by its repetition, counted from 1; `None`: it is a step of the search.
    ///
    /// The repetitions behind those of the search are its trials at operating points, at one share after the other.
    #[must_use]
    pub fn operating_point(&self, repetition: u32) -> Option<usize> {
        let points = self.operating_points.as_ref()?;
        let place = repetition.checked_sub(self.max_trials)?.checked_sub(1)?;
        usize::try_from(place)
            .ok()?
            .checked_rem(points.shares.len())
    }

    /// Its share of the capacity.
    #[must_use]
    pub fn operating_share(&self, repetition: u32) -> Option<f64> {
        let points = self.operating_points.as_ref()?;
        points
            .shares
            .get(self.operating_point(repetition)?)
            .copied()
    }
}
