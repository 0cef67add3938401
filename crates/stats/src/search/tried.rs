//! What a trial shows a search.

use crate::{judgement::verdict::Verdict, search::pool::PoolUse};

/// What one trial shows about its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Every condition held.
    Met,
    /// One did not, by the system's own doing.
    NotMet,
    /// One did not, for want of a free connection: the system was as fast as ever. A trial alone does not show it; the search does,
    /// by the service times of all of its trials.
    PoolLimited,
    /// The generator was the limit: the trial says nothing of the level.
    InstrumentLimited,
    /// The conditions held on average, but the system did not keep one level. Again and again it shows that the level does not hold;
    /// once, nothing.
    Unsteady,
    /// The trial did not complete, or its accounting does not add up.
    Nothing,
}

impl Evidence {
    /// The evidence of a trial with this verdict. An overloaded or incomplete one shows that the system does not hold the level,
    /// whatever the conditions are.
    #[must_use]
    pub fn from_verdict(verdict: Verdict, conditions_hold: bool) -> Self {
        match verdict {
            Verdict::Failed | Verdict::Inconsistent => Self::Nothing,
            Verdict::InstrumentLimited => Self::InstrumentLimited,
            Verdict::Overloaded | Verdict::Incomplete => Self::NotMet,
            Verdict::Unsteady if conditions_hold => Self::Unsteady,
            Verdict::Unsteady => Self::NotMet,
            Verdict::Valid | Verdict::Contended if conditions_hold => Self::Met,
            Verdict::Valid => Self::NotMet,
            // With the CPUs to itself the system may hold the level.
            Verdict::Contended => Self::Unsteady,
        }
    }
}

/// One trial of the search: its level, and what it shows by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTrial {
    pub level: f64,
    pub evidence: Evidence,
    /// Connections that the load had; `None`: not known.
    pub connections: Option<u32>,
    /// How the pool of connections was used; `None`: the load has no pool beside its level, or nothing was measured.
    pub pool: Option<PoolUse>,
    /// How late the generator was, in microseconds.
    pub lag_us: Option<f64>,
}

impl SearchTrial {
    /// A trial of which nothing but this is known.
    #[must_use]
    pub fn new(level: f64, evidence: Evidence) -> Self {
        Self {
            level,
            evidence,
            connections: None,
            pool: None,
            lag_us: None,
        }
    }
}
