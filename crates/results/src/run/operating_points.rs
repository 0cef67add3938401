//! Operating points of a search: which trials are at one, and of which share of the capacity.

use serde::{Deserialize, Serialize};

use crate::{SearchInfo, TrialKey};

/// Further trials of each cell, at shares of the capacity that its search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatingPointsInfo {
    /// At least one; each above 0 and at most 1.
    pub shares: Vec<f64>,
    /// Trials of a cell at each of them.
    pub repeat: u32,
}

impl SearchInfo {
    /// The place of a trial's operating point among the shares; `None`: it is a step of the search.
    ///
    /// The repetitions behind those of the search are its trials at operating points, at one share after the other.
    #[must_use]
    pub fn operating_point(&self, key: TrialKey) -> Option<usize> {
        let points = self.operating_points.as_ref()?;
        let place = key
            .repetition
            .checked_sub(self.max_trials)?
            .checked_sub(1)?;
        usize::try_from(place)
            .ok()?
            .checked_rem(points.shares.len())
    }

    /// Its share of the capacity.
    #[must_use]
    pub fn operating_share(&self, key: TrialKey) -> Option<f64> {
        let points = self.operating_points.as_ref()?;
        points.shares.get(self.operating_point(key)?).copied()
    }
}
