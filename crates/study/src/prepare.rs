//! What is done to a system before the load that is measured.

use std::{sync::Arc, time::Duration};

use crate::{Cell, LoadModel, Scenario, Study};

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

    /// Sessions of all loads.
    #[must_use]
    pub fn sessions(&self) -> u64 {
        self.loads.iter().map(|load| load.sessions).sum()
    }
}

impl Study {
    /// Whether two cells can have their trials on the same prepared system: they are the same, or differ only in the level of the
    /// factor with which it grows.
    #[must_use]
    pub fn share_preparation(&self, one: &Cell, other: &Cell) -> bool {
        let Some(grow) = &self.grow else {
            return one.number == other.number;
        };
        let fixed = |cell: &Cell| {
            let levels = cell.levels.iter();
            let levels = levels.filter(|(factor, _)| factor != grow);
            levels.cloned().collect::<Vec<_>>()
        };
        one.version == other.version
            && one.parameters == other.parameters
            && fixed(one) == fixed(other)
    }

    /// The cells in an order in which a prepared system grows: those that share it follow the first of them, smallest first.
    pub(crate) fn grown<'a>(&self, cells: Vec<&'a Cell>) -> Vec<&'a Cell> {
        if self.grow.is_none() {
            return cells;
        }
        let mut order: Vec<&Cell> = Vec::with_capacity(cells.len());
        for cell in &cells {
            if order.iter().any(|known| known.number == cell.number) {
                continue;
            }
            let mut group: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|other| self.share_preparation(cell, other))
                .collect();
            group.sort_by_key(|cell| cell.preparation.as_ref().map(Preparation::sessions));
            order.extend(group);
        }
        order
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
