//! The highest level of load at which conditions hold: bracket, bisect, confirm.
//!
//! A state machine without I/O: [`Search::next`] names the level to try, [`Search::report`] takes the evidence of its trial. The
//! next step is a function of the settings and of the evidence so far. An interrupted search is therefore resumed by reporting
//! the trials on disk again, and so is its answer computed from a run folder.
//!
//! Bracket: the level doubles from the start until a trial stops it, or halves if the start itself does not hold. Bisect: halfway
//! between the two ends on the log scale, until they are within the precision. Confirm: the lower end must hold in every one of
//! `confirmations` trials; one that fails becomes the upper end and the search continues below it. The upper end, if one trial
//! alone stopped it, is tried once more, because a single bad trial would cut off all levels above it.
//!
//! Two things are no evidence of the system. A trial in which the generator was the limit is repeated at once; a level at which it
//! always is, is an end of nothing. A trial in which the pool of connections was the limit is repeated with more of them
//! ([`Search::connections`]).

mod answer;
mod fit;
mod level_state;
mod level_summary;
mod pool;
mod settings;
mod steps;
mod tried;

#[cfg(test)]
mod tests;

pub use answer::{Answer, End, HoldingLevel};
pub use fit::FittedLevel;
pub use level_summary::LevelSummary;
pub use pool::{PoolLimit, PoolUse};
pub use settings::{Levels, Settings};
pub use tried::{Evidence, SearchTrial};

use level_state::{Ends, LevelState, level_states};
use pool::Pools;

/// Trials of one level that may say nothing before the search gives that level up.
pub const MAX_SILENT_TRIALS: u32 = 3;
/// Levels that are this close, as a share, are the same one: they may have been through a text.
const SAME: f64 = 1e-9;
/// The precision of a level at a share of the capacity.
const OPERATING_PRECISION: f64 = 0.02;
/// Bounds of the precision that is taken; a wish beyond them is cut to them.
const PRECISION: (f64, f64) = (0.001, 1.0);

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A level that was not tried yet.
    Try(f64),
    /// One that was: this is its trial of that number, counted from 1.
    Confirm {
        level: f64,
        trial: u32,
    },
    Done(Answer),
}

impl Step {
    /// The level to try; `None` if the search is done.
    #[must_use]
    pub fn level(&self) -> Option<f64> {
        match self {
            Self::Try(level) | Self::Confirm { level, .. } => Some(*level),
            Self::Done(_) => None,
        }
    }
}

/// A search and its trials so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    settings: Settings,
    tried: Vec<SearchTrial>,
}

impl Search {
    /// `None` unless `0 < min <= start <= max`, all finite (and integers for [`Levels::Whole`]), and at least one trial is
    /// allowed.
    #[must_use]
    pub fn new(settings: Settings) -> Option<Self> {
        let Settings {
            start,
            min,
            max,
            precision,
            ..
        } = settings;
        let ordered = 0.0 < min && min <= start && start <= max && max.is_finite();
        let whole = settings.levels == Levels::Fine
            || [start, min, max].iter().all(|level| level.fract() == 0.0);
        let counts = settings.confirmations >= 1 && settings.max_trials >= 1;
        (ordered && whole && counts && !precision.is_nan()).then(|| Self {
            settings: Settings {
                precision: precision.clamp(PRECISION.0, PRECISION.1),
                ..settings
            },
            tried: Vec::new(),
        })
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// In the order in which they were reported.
    #[must_use]
    pub fn trials(&self) -> &[SearchTrial] {
        &self.tried
    }

    pub fn report(&mut self, tried: SearchTrial) {
        self.tried.push(tried);
    }

    /// What each trial shows, by all trials so far; in the order in which they were reported.
    #[must_use]
    pub fn evidence(&self) -> Vec<Evidence> {
        pool::judged_evidence(&self.tried)
    }

    /// How many connections the load of the next trial has; `None`: as many as it is set to.
    #[must_use]
    pub fn connections(&self) -> Option<u32> {
        Pools::new(&self.settings, &self.tried).next()
    }

    #[must_use]
    pub fn next(&self) -> Step {
        let pools = Pools::new(&self.settings, &self.tried);
        let level_states = level_states(&self.settings, &pools.counted_trials());
        match self.plan(&Ends::new(&level_states), &level_states) {
            Planned::Level(level) => self.step(level, &level_states),
            Planned::End(end) => Step::Done(Answer::new(&level_states, &self.tried, &pools, end)),
        }
    }

    /// The answer so far; that of a running search ends with [`End::Unfinished`].
    #[must_use]
    pub fn answer(&self) -> Answer {
        match self.next() {
            Step::Done(answer) => answer,
            _ => {
                let pools = Pools::new(&self.settings, &self.tried);
                let level_states = level_states(&self.settings, &pools.counted_trials());
                Answer::new(&level_states, &self.tried, &pools, End::Unfinished)
            }
        }
    }

    fn step(&self, level: f64, level_states: &[LevelState]) -> Step {
        match level_states
            .iter()
            .find(|seen| is_same_level(seen.level, level))
        {
            None => Step::Try(level),
            Some(seen) => Step::Confirm {
                level: seen.level,
                trial: seen.trials() + 1,
            },
        }
    }
}

impl Levels {
    /// The level at a share of a capacity, rounded so that people can read it: a rate is off by half a percent at most, the others are
    /// the nearest whole number, and at least 1. It may be below the lowest level of the search.
    #[must_use]
    pub fn at_share(self, capacity: f64, share: f64) -> f64 {
        if share >= 1.0 {
            return capacity;
        }
        let rounded = readable_level(capacity * share, OPERATING_PRECISION, self);
        match self {
            Self::Whole => rounded.max(1.0),
            Self::Fine => rounded,
        }
    }
}

/// A level that people can read, off by a quarter of the precision at most; a whole one is off by a half, if that is more.
fn readable_level(level: f64, precision: f64, levels: Levels) -> f64 {
    let apart = level * precision / 2.0;
    let ten = 10_f64.powf(apart.log10().floor());
    let mut step = match apart / ten {
        parts if parts >= 5.0 => 5.0 * ten,
        parts if parts >= 2.0 => 2.0 * ten,
        _ => ten,
    };
    if levels == Levels::Whole {
        step = step.max(1.0);
    }
    // Below 1 the step has no exact form, its inverse has.
    if step < 1.0 {
        let parts = (1.0 / step).round();
        (level * parts).round() / parts
    } else {
        (level / step).round() * step
    }
}

fn is_same_level(level: f64, other: f64) -> bool {
    (level - other).abs() <= SAME * level.abs().max(other.abs())
}

enum Planned {
    Level(f64),
    End(End),
}
