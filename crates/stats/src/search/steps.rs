//! Which level comes next, or why none does.

use crate::search::{
    End, Levels, Planned, SAME, Search, Settings,
    level_state::{Ends, LevelState},
    readable_level,
};

/// With so many levels above the one that holds at which the generator always was the limit, none above them is tried.
const LIMITED_LEVELS: usize = 2;
/// So many levels at the bottom at which it always was the limit end the search, however late it was.
const LIMITED_LEVELS_AT_BOTTOM: usize = 4;
/// The generator is late because of the machine, and not because of the rate, unless its lateness falls below this share from one
/// level to the next lower one.
const LATENESS_FALLS: f64 = 0.9;
/// A search that spent its trials ended because of the generator if it was the limit in so many of them, and in half of all.
const LIMITED_TRIALS: u32 = 2;
/// A level whose trials are limited so many times as often as it must be confirmed is not confirmed any further.
const LIMITED_PER_CONFIRMATION: u32 = 3;

impl Search {
    pub(super) fn plan(&self, ends: &Ends<'_>, level_states: &[LevelState]) -> Planned {
        let tried = u32::try_from(self.tried.len()).unwrap_or(u32::MAX);
        let left = self.settings.max_trials.saturating_sub(tried);
        // A trial without evidence is repeated before anything else.
        if let (Some(open), 1..) = (level_states.iter().find(|seen| seen.is_open()), left) {
            return Planned::Level(open.level);
        }
        if is_machine_limit(ends, level_states) {
            return Planned::End(End::InstrumentLimited);
        }
        // One trial at the lowest level is no reason to go below it: a single bad one would halve the answer.
        if let (None, Some(lowest), 1..) = (ends.holds, level_states.first(), left)
            && lowest.is_doubtful()
        {
            return Planned::Level(lowest.level);
        }
        let unconfirmed = ends.holds.filter(|held| !self.is_confirmed(held));
        let unsettled = ends.stops.filter(|stops| !stops.is_settled());
        let confirming = unconfirmed.map_or(0, |held| self.settings.confirmations - held.met)
            + u32::from(ends.holds.is_some() && unsettled.is_some());
        let narrower = self.narrower(ends, level_states);
        match narrower {
            _ if left == 0 => {}
            // The last trials are reserved for confirmation.
            Some(level) if left > confirming || ends.holds.is_none() => {
                return Planned::Level(level);
            }
            _ => {
                let mut reserved = unconfirmed.into_iter().chain(unsettled);
                if let Some(seen) = reserved.next() {
                    return Planned::Level(seen.level);
                }
            }
        }
        let is_done = narrower.is_none() && unconfirmed.is_none() && unsettled.is_none();
        Planned::End(match is_done {
            true => self.end(ends, level_states),
            false if is_generator_limit(level_states) => End::InstrumentLimited,
            false => End::TrialsSpent,
        })
    }

    /// Whether more trials of the level are not needed, or show no more.
    fn is_confirmed(&self, held: &LevelState) -> bool {
        let confirmations = self.settings.confirmations;
        held.met >= confirmations
            || held.limited >= confirmations.saturating_mul(LIMITED_PER_CONFIRMATION)
    }

    /// Of a search that needs no more trials.
    fn end(&self, ends: &Ends<'_>, level_states: &[LevelState]) -> End {
        let is_confirmed = |held: &LevelState| held.met >= self.settings.confirmations;
        if ends.limited_trials(level_states).len() >= LIMITED_LEVELS
            || ends.holds.is_some_and(|held| !is_confirmed(held))
        {
            return End::InstrumentLimited;
        }
        End::from_ends(ends, level_states)
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
        let limited = ends.limited_trials(level_states);
        let lowest_limited = limited.first().filter(|_| limited.len() >= LIMITED_LEVELS);
        let highest = level_states.last().unwrap_or(lowest);
        if ends.stops.is_none() && lowest_limited.is_none() && highest.level < max {
            return Some(self.round(highest.level * 2.0));
        }
        // Levels between the ends whose trials disagree, or show nothing, are neither end; the widest gap next to them is halved.
        let above = ends.holds.map_or(0.0, |held| held.level);
        let up_to = lowest_limited.or(ends.stops.as_ref());
        let up_to = up_to.map_or(max, |seen| seen.level);
        let points: Vec<f64> = level_states
            .iter()
            .map(|seen| seen.level)
            .filter(|level| (above..=up_to).contains(level))
            .collect();
        points
            .windows(2)
            .filter(|gap| self.is_wide(gap[0], gap[1]))
            .max_by(|pair, two| (pair[1] / pair[0]).total_cmp(&(two[1] / two[0])))
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

/// Whether lower levels show no more: nothing holds, and at the lowest levels the generator always was the limit, no less at the
/// lower one. Then other programs keep it from its CPU, and not the rate.
fn is_machine_limit(ends: &Ends<'_>, level_states: &[LevelState]) -> bool {
    if ends.holds.is_some() {
        return false;
    }
    let lowest = level_states.iter().take_while(|seen| seen.is_limited());
    let lowest: Vec<&LevelState> = lowest.collect();
    let is_as_late = match lowest.as_slice() {
        [lower, upper, ..] => match (lower.lag_us, upper.lag_us) {
            (Some(lower), Some(upper)) => lower >= LATENESS_FALLS * upper,
            _ => false,
        },
        _ => false,
    };
    is_as_late || lowest.len() >= LIMITED_LEVELS_AT_BOTTOM
}

/// Whether no level failed by the system, and the generator was the limit in half of the trials or more.
fn is_generator_limit(level_states: &[LevelState]) -> bool {
    let limited: u32 = level_states.iter().map(|seen| seen.limited).sum();
    let all: u32 = level_states.iter().map(LevelState::trials).sum();
    let is_failing = |seen: &LevelState| seen.not_met + seen.pool_limited > 0;
    limited >= LIMITED_TRIALS && 2 * limited >= all && !level_states.iter().any(is_failing)
}
