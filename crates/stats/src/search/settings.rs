//! Limits of a search, and the levels that it may try.

/// Limits and start of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The first level; then doubled or halved.
    pub start: f64,
    pub min: f64,
    pub max: f64,
    /// How close the two ends must come, as a share of the lower one.
    pub precision: f64,
    /// How many trials must hold at the level that is the answer.
    pub confirmations: u32,
    pub max_trials: u32,
    /// Up to so many connections the search enlarges the pool of the load; `None`: never.
    pub max_connections: Option<u32>,
    pub levels: Levels,
}

/// Which levels there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// Users, connections.
    Whole,
    /// Rates.
    Fine,
}
