//! Whether the sink does its work, why not, and what operators are told about it, not more often than bears reading.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use waggle_service::log;

/// The same place is reported at most once in this time.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// What can keep the sink from its work, each for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The group has not given us partitions, or said that there are none for us.
    Group,
    Kafka,
    Topics,
    Commit,
    DeadLetters,
    /// The database cannot be reached, or asks to wait.
    Database,
    /// The database refuses us, not our lines: a wrong token, no such bucket.
    Access,
    Draining,
}

/// The state of all places.
#[derive(Debug, Default)]
pub(crate) struct Health {
    states: Mutex<HashMap<Place, State>>,
}

#[derive(Debug, Default)]
struct State {
    problem: Option<String>,
    /// Operators know of it.
    told: bool,
    /// When a problem was last reported.
    reported: Option<Instant>,
    /// Not reported since.
    silent: u64,
}

/// What to say.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Problem(u64),
    Over,
}

impl Health {
    /// Something is wrong.
    pub(crate) fn wrong(&self, place: Place, problem: &str) {
        if let Said::Problem(silent) = self.note(place, problem, Instant::now()) {
            match silent {
                0 => log::warning(format_args!("{problem}")),
                more => log::warning(format_args!("{problem} (and {more} times before)")),
            }
        }
    }

    /// Nothing is wrong there (any more).
    pub(crate) fn right(&self, place: Place) {
        if self.end(place) == Said::Over {
            log::note(format_args!("{} again", place.name()));
        }
    }

    /// Why the sink does not do its work, the most telling reason first.
    pub(crate) fn problem(&self) -> Option<String> {
        let states = self.lock();
        let places = [
            Place::Draining,
            Place::Access,
            Place::Database,
            Place::DeadLetters,
            Place::Kafka,
            Place::Topics,
            Place::Group,
            Place::Commit,
        ];
        places
            .iter()
            .find_map(|place| states.get(place)?.problem.clone())
    }

    pub(crate) fn is_wrong(&self, place: Place) -> bool {
        self.lock()
            .get(&place)
            .is_some_and(|state| state.problem.is_some())
    }

    /// Sets the problem without saying it.
    pub(crate) fn set(&self, place: Place, problem: &str) {
        self.lock().entry(place).or_default().problem = Some(problem.to_owned());
    }

    fn note(&self, place: Place, problem: &str, now: Instant) -> Said {
        let mut states = self.lock();
        let state = states.entry(place).or_default();
        state.problem = Some(problem.to_owned());
        let is_due = (state.reported).is_none_or(|reported| now - reported >= REPORT_EVERY);
        if is_due {
            state.reported = Some(now);
            state.told = true;
            Said::Problem(std::mem::take(&mut state.silent))
        } else {
            state.silent += 1;
            Said::Nothing
        }
    }

    fn end(&self, place: Place) -> Said {
        let mut states = self.lock();
        let Some(state) = states.get_mut(&place) else {
            return Said::Nothing;
        };
        state.problem = None;
        if std::mem::take(&mut state.told) {
            Said::Over
        } else {
            Said::Nothing
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Place, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Group => "the group is joined",
            Self::Kafka => "Kafka answers",
            Self::Topics => "the topics are there",
            Self::Commit => "offsets are committed",
            Self::DeadLetters => "dead letters are written",
            Self::Database => "the database answers",
            Self::Access => "the database lets us write",
            Self::Draining => "nothing is drained",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_is_not_reported_all_the_time() {
        let health = Health::default();
        let now = Instant::now();
        assert_eq!(health.end(Place::Database), Said::Nothing);
        assert_eq!(health.note(Place::Database, "away", now), Said::Problem(0));
        assert_eq!(health.note(Place::Database, "away", now), Said::Nothing);
        assert_eq!(health.note(Place::Kafka, "away", now), Said::Problem(0));
        let later = now + REPORT_EVERY;
        assert_eq!(
            health.note(Place::Database, "away", later),
            Said::Problem(1)
        );
        assert_eq!(health.end(Place::Database), Said::Over);
        assert_eq!(health.end(Place::Database), Said::Nothing);
        // One that flickers is as bounded.
        assert_eq!(health.note(Place::Database, "away", later), Said::Nothing);
        assert_eq!(health.end(Place::Database), Said::Nothing);
    }

    #[test]
    fn the_most_telling_problem_is_shown() {
        let health = Health::default();
        assert_eq!(health.problem(), None);
        health.set(Place::Group, "not yet");
        health.set(Place::Access, "401");
        assert_eq!(health.problem().as_deref(), Some("401"));
        assert!(health.is_wrong(Place::Group));
        health.right(Place::Access);
        assert_eq!(health.problem().as_deref(), Some("not yet"));
    }
}
