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

mod answer;
mod level_state;

#[cfg(test)]
mod tests;

use crate::Verdict;

pub use answer::{Answer, End, HoldingLevel, LevelSummary};
use level_state::{Ends, LevelState, level_states};

/// Trials of one level that may say nothing before the search gives that level up.
pub const MAX_SILENT_TRIALS: u32 = 3;
/// Levels that are this close, as a share, are the same one: they may have been through a text.
const SAME: f64 = 1e-9;
/// The precision of a level at a share of the capacity.
const OPERATING_PRECISION: f64 = 0.02;
/// Bounds of the precision that is taken; a wish beyond them is cut to them.
const PRECISION: (f64, f64) = (0.001, 1.0);

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

/// What one trial shows about its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Every condition held.
    Met,
    /// One did not, by the system's own doing.
    NotMet,
    /// The generator was the limit: neither this level nor a higher one can be judged with it.
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

/// One trial of the search: its level and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchTrial {
    pub level: f64,
    pub evidence: Evidence,
}

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

    #[must_use]
    pub fn next(&self) -> Step {
        let level_states = level_states(&self.settings, &self.tried);
        match self.plan(&Ends::new(&level_states), &level_states) {
            Planned::Level(level) => self.step(level, &level_states),
            Planned::End(end) => Step::Done(Answer::new(&level_states, self.tried.len(), end)),
        }
    }

    /// The answer so far; that of a running search ends with [`End::Unfinished`].
    #[must_use]
    pub fn answer(&self) -> Answer {
        match self.next() {
            Step::Done(answer) => answer,
            _ => Answer::new(
                &level_states(&self.settings, &self.tried),
                self.tried.len(),
                End::Unfinished,
            ),
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

    fn plan(&self, ends: &Ends<'_>, level_states: &[LevelState]) -> Planned {
        let tried = u32::try_from(self.tried.len()).unwrap_or(u32::MAX);
        let left = self.settings.max_trials.saturating_sub(tried);
        // A trial without evidence is repeated before anything else.
        if let (Some(open), 1..) = (level_states.iter().find(|seen| seen.is_open()), left) {
            return Planned::Level(open.level);
        }
        // One trial at the lowest level is no reason to go below it: a single bad one would halve the answer.
        if let (None, Some(lowest), 1..) = (ends.holds, level_states.first(), left)
            && lowest.is_doubtful()
        {
            return Planned::Level(lowest.level);
        }
        let confirming = ends.holds.map_or(0, |held| {
            self.settings.confirmations.saturating_sub(held.met)
                + u32::from(ends.stops.is_some_and(|stops| !stops.is_settled()))
        });
        let narrower = self.narrower(ends, level_states);
        match narrower {
            _ if left == 0 => {}
            // The last trials are reserved for confirmation.
            Some(level) if left > confirming || ends.holds.is_none() => {
                return Planned::Level(level);
            }
            _ => {
                if let Some(held) = ends
                    .holds
                    .filter(|held| held.met < self.settings.confirmations)
                {
                    return Planned::Level(held.level);
                }
                if let Some(stops) = ends.stops.filter(|stops| !stops.is_settled()) {
                    return Planned::Level(stops.level);
                }
            }
        }
        let confirmed = ends
            .holds
            .is_none_or(|held| held.met >= self.settings.confirmations);
        let settled = ends.stops.is_none_or(LevelState::is_settled);
        Planned::End(if narrower.is_some() || !confirmed || !settled {
            End::TrialsSpent
        } else {
            End::from_ends(ends)
        })
    }

    /// The level that makes the interval narrower; `None` if it is narrow enough.
    fn narrower(&self, ends: &Ends<'_>, level_states: &[LevelState]) -> Option<f64> {
        let Settings {
            start, min, max, ..
        } = self.settings;
        let Some(lowest) = level_states.first() else {
            return Some(start);
        };
        if ends.holds.is_none() && lowest.level > min {
            return Some(self.round(lowest.level / 2.0));
        }
        let highest = level_states.last().unwrap_or(lowest);
        if ends.stops.is_none() && highest.level < max {
            return Some(self.round(highest.level * 2.0));
        }
        // Levels between the ends whose trials disagree are neither end; the widest gap next to them is halved.
        let above = ends.holds.map_or(0.0, |held| held.level);
        let up_to = ends.stops.map_or(max, |stops| stops.level);
        let points: Vec<f64> = level_states
            .iter()
            .map(|seen| seen.level)
            .filter(|level| (above..=up_to).contains(level))
            .collect();
        points
            .windows(2)
            .filter(|gap| self.is_wide(gap[0], gap[1]))
            .max_by(|one, two| (one[1] / one[0]).total_cmp(&(two[1] / two[0])))
            .map(|gap| self.round((gap[0] * gap[1]).sqrt()))
    }

    fn is_wide(&self, low: f64, high: f64) -> bool {
        let apart = match self.settings.levels {
            Levels::Whole => high - low > 1.5,
            Levels::Fine => true,
        };
        apart && high > low * (1.0 + self.settings.precision) * (1.0 + SAME)
    }

    /// A level that people can read, off by a quarter of the precision at most; within the bounds.
    fn round(&self, level: f64) -> f64 {
        let Settings {
            precision,
            levels,
            min,
            max,
            ..
        } = self.settings;
        readable_level(level, precision, levels).clamp(min, max)
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

fn is_same_level(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME * one.abs().max(other.abs())
}

enum Planned {
    Level(f64),
    End(End),
}
