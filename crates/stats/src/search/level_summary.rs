//! What the trials of a level showed, in counts.

/// The trials of one level, counted by what they showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelSummary {
    pub level: f64,
    pub met: u32,
    pub not_met: u32,
    pub pool_limited: u32,
    pub instrument_limited: u32,
    pub silent: u32,
}

impl LevelSummary {
    /// Trials that show whether the system holds the level.
    #[must_use]
    pub fn judged_trials(&self) -> u32 {
        self.met + self.not_met
    }
}
