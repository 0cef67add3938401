//! The result of a search: an interval, why it ended, and every level that was tried.

use crate::search::{
    SearchTrial,
    fit::FittedLevel,
    is_same_level,
    level_state::{Ends, LevelState, Stop},
    level_summary::LevelSummary,
    pool::{PoolLimit, Pools},
};

/// Conditions hold at `holds`; `fails` is the lowest level above it at which they failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The highest level that held in all of its trials.
    pub holds: Option<HoldingLevel>,
    /// The lowest level above it that failed; `None` if none did.
    pub fails: Option<f64>,
    pub end: End,
    /// The level that stopped the search, for any reason; `None` if none did.
    pub stopped_at: Option<f64>,
    /// Index, among all trials, of the last trial of that level that showed what stops the search.
    pub stopped_by: Option<usize>,
    pub trials: u32,
    /// In so many of them the generator was the limit.
    pub limited_trials: u32,
    /// The pool of connections at the end; `None`: the load has none beside its level, or its size is not known.
    pub pool: Option<PoolLimit>,
    /// Every level that was tried, in ascending order.
    pub levels: Vec<LevelSummary>,
}

/// A level that held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HoldingLevel {
    pub level: f64,
    /// In how many trials: all there were of it.
    pub trials: u32,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The interval is narrow enough and its ends are confirmed.
    Found,
    /// It held at the highest level that may be tried.
    MetUpToMost,
    /// Conditions failed at the lowest allowed level.
    NeverMet,
    /// At higher levels the pool of connections was the limit, and could not be enlarged; the system may hold more.
    PoolLimited,
    /// At higher levels the load generator was the limit; the system may hold more.
    InstrumentLimited,
    /// Higher up the trials say nothing: they failed, or their accounts do not add up.
    Silent,
    /// As many trials as allowed were made.
    TrialsSpent,
    /// It is still running, or was interrupted.
    Unfinished,
}

impl End {
    /// Of a search that needs no more trials.
    pub(super) fn from_ends(ends: &Ends<'_>, level_states: &[LevelState]) -> Self {
        let is_limited = !ends.limited_trials(level_states).is_empty();
        match (ends.stops.and_then(|stops| stops.stop), ends.holds) {
            (None, _) | (_, None) if is_limited => Self::InstrumentLimited,
            (None, _) => Self::MetUpToMost,
            (Some(Stop::NotMet), Some(_)) => Self::Found,
            (Some(Stop::NotMet), None) => Self::NeverMet,
            (Some(Stop::PoolLimited), _) => Self::PoolLimited,
            (Some(Stop::Silent), _) => Self::Silent,
        }
    }

    /// As it is written everywhere.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::MetUpToMost => "met-up-to-most",
            Self::NeverMet => "never-met",
            Self::PoolLimited => "pool-limited",
            Self::InstrumentLimited => "instrument-limited",
            Self::Silent => "silent",
            Self::TrialsSpent => "trials-spent",
            Self::Unfinished => "unfinished",
        }
    }
}

impl Answer {
    /// The highest level that held, once the search has ended; a lower bound of what the system can do unless it ended by
    /// [`End::Found`].
    #[must_use]
    pub fn capacity(&self) -> Option<f64> {
        let held = self.holds.filter(|_| self.end != End::Unfinished)?;
        Some(held.level)
    }

    /// Whether the search shows nothing about the system: no level holds, and none is known to fail.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        let is_unknown = matches!(
            self.end,
            End::PoolLimited | End::InstrumentLimited | End::Silent
        );
        self.holds.is_none() && (self.fails.is_none() || is_unknown)
    }

    /// Whether the question stays open: the search shows nothing, or nothing but that the generator could do no more.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.says_nothing() || (self.end == End::InstrumentLimited && self.fails.is_none())
    }

    /// Whether the level that holds is a lower bound of what the system can do.
    #[must_use]
    pub fn is_lower_bound(&self) -> bool {
        self.capacity().is_some() && self.end != End::Found
    }

    /// The level that half of the trials hold, by all trials that show something of the system.
    #[must_use]
    pub fn fitted_level(&self) -> Option<FittedLevel> {
        FittedLevel::new(&self.levels)
    }

    /// The trials of a level that was tried.
    #[must_use]
    pub fn at_level(&self, level: f64) -> Option<&LevelSummary> {
        let mut levels = self.levels.iter();
        levels.find(|seen| is_same_level(seen.level, level))
    }

    /// Levels above the one that holds, and below the lowest that does not, at which some trials held and some did not.
    pub fn mixed_levels(&self) -> impl Iterator<Item = &LevelSummary> {
        let above = self.holds.map_or(f64::INFINITY, |held| held.level);
        let below = self.fails.unwrap_or(f64::INFINITY);
        let between = self.levels.iter();
        between.filter(move |seen| {
            above < seen.level && seen.level < below && seen.met > 0 && seen.not_met > 0
        })
    }

    pub(super) fn new(
        level_states: &[LevelState],
        tried: &[SearchTrial],
        pools: &Pools<'_>,
        end: End,
    ) -> Self {
        let ends = Ends::new(level_states);
        let limited = ends.limited_trials(level_states).into_iter().next();
        let stopped = match end {
            End::InstrumentLimited => limited.or(ends.stops),
            _ => ends.stops,
        };
        let levels: Vec<LevelSummary> = level_states.iter().map(summarize_level).collect();
        Self {
            holds: ends.holds.map(|seen| HoldingLevel {
                level: seen.level,
                trials: seen.met,
            }),
            fails: level_states
                .iter()
                .find(|seen| seen.stop == Some(Stop::NotMet))
                .map(|seen| seen.level),
            end,
            stopped_at: stopped.map(|seen| seen.level),
            stopped_by: stopped.and_then(|seen| seen.stopped_by),
            trials: u32::try_from(tried.len()).unwrap_or(u32::MAX),
            limited_trials: level_states.iter().map(|seen| seen.limited).sum(),
            pool: pools.limit(),
            levels,
        }
    }
}

fn summarize_level(seen: &LevelState) -> LevelSummary {
    LevelSummary {
        level: seen.level,
        met: seen.met,
        not_met: seen.not_met,
        pool_limited: seen.pool_limited,
        instrument_limited: seen.limited,
        silent: seen.silent,
    }
}
