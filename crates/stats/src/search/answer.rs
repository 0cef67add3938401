//! The result of a search: an interval, why it ended, and every level that was tried.

use super::level_state::{Ends, LevelState, Stop};

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
    pub(super) fn from_ends(ends: &Ends<'_>) -> Self {
        match (ends.stops.and_then(|stops| stops.stop), ends.holds) {
            (None, _) => Self::MetUpToMost,
            (Some(Stop::NotMet), Some(_)) => Self::Found,
            (Some(Stop::NotMet), None) => Self::NeverMet,
            (Some(Stop::InstrumentLimited), _) => Self::InstrumentLimited,
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
            Self::InstrumentLimited => "instrument-limited",
            Self::Silent => "silent",
            Self::TrialsSpent => "trials-spent",
            Self::Unfinished => "unfinished",
        }
    }
}

/// The trials of one level, counted by what they showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelSummary {
    pub level: f64,
    pub met: u32,
    pub not_met: u32,
    pub instrument_limited: u32,
    pub silent: u32,
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
        let is_unknown = matches!(self.end, End::InstrumentLimited | End::Silent);
        self.holds.is_none() && (self.fails.is_none() || is_unknown)
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

    pub(super) fn new(level_states: &[LevelState], trials: usize, end: End) -> Self {
        let Ends { holds, stops } = Ends::new(level_states);
        Self {
            holds: holds.map(|seen| HoldingLevel {
                level: seen.level,
                trials: seen.met,
            }),
            fails: level_states
                .iter()
                .find(|seen| seen.stop == Some(Stop::NotMet))
                .map(|seen| seen.level),
            end,
            stopped_at: stops.map(|seen| seen.level),
            stopped_by: stops.and_then(|seen| seen.stopped_by),
            trials: u32::try_from(trials).unwrap_or(u32::MAX),
            levels: level_states
                .iter()
                .map(|seen| LevelSummary {
                    level: seen.level,
                    met: seen.met,
                    not_met: seen.not_met,
                    instrument_limited: seen.limited,
                    silent: seen.silent,
                })
                .collect(),
        }
    }
}
