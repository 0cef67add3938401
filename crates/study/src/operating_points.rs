//! Operating points of a search: how many trials they add, and which ones these are.

use crate::Search;

/// Further trials of each cell, at shares of the capacity that its search found.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatingPoints {
    /// At least one, each once; above 0 and at most 1.
    pub shares: Vec<f64>,
    /// Trials at each of them.
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
}
