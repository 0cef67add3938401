//! What is done to a system before the load that is measured.

use std::{sync::Arc, time::Duration};

use waggle_spec::LoadModel;

use crate::Scenario;

/// Loads that fill a system after its functional check, and what follows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    /// In their order; at least one.
    pub loads: Vec<PrepareLoad>,
    pub settle: Option<Settle>,
    /// Whether the prepared system is kept for later trials and runs.
    pub snapshot: bool,
}

impl Preparation {
    /// The longest that it may take.
    #[must_use]
    pub fn at_most(&self) -> Duration {
        let loads: Duration = self.loads.iter().map(PrepareLoad::at_most).sum();
        loads + self.settle.as_ref().map_or(Duration::ZERO, Settle::at_most)
    }

    /// The loads that are run: those that have sessions.
    pub fn loads_with_sessions(&self) -> impl Iterator<Item = &PrepareLoad> {
        self.loads.iter().filter(|load| load.sessions > 0)
    }

    /// Sessions of all loads.
    #[must_use]
    pub fn sessions(&self) -> u64 {
        self.loads.iter().map(|load| load.sessions).sum()
    }
}

/// A load that is run once: a number of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct PrepareLoad {
    /// One flow. It has the load's name.
    pub scenario: Arc<Scenario>,
    pub endpoint: String,
    pub sessions: u64,
    /// Closed or open.
    pub model: LoadModel,
    /// Of each request.
    pub retries: u32,
    pub timeout: Duration,
    /// Captured variables whose values are kept for feeds of later loads.
    pub keep: Vec<String>,
    /// The check at its end.
    pub verify: Option<Arc<Scenario>>,
    /// How long its steps are repeated.
    pub verify_timeout: Duration,
}

impl PrepareLoad {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The longest that it may take, with its check.
    #[must_use]
    pub fn at_most(&self) -> Duration {
        let verify = self.verify.as_ref().map(|_| self.verify_timeout);
        self.timeout + verify.unwrap_or_default()
    }
}

/// What is waited for after the last load.
#[derive(Debug, Clone, PartialEq)]
pub enum Settle {
    Time(Duration),
    /// Until a metric of the system has had the same value for some time.
    Quiet {
        metric: String,
        quiet_period: Duration,
        timeout: Duration,
    },
}

impl Settle {
    /// The longest that it may take.
    #[must_use]
    pub fn at_most(&self) -> Duration {
        match self {
            Self::Time(time) => *time,
            Self::Quiet { timeout, .. } => *timeout,
        }
    }
}
