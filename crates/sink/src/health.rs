//! Health checks: whether the sink does its work, why not, and what of that is logged, at most so often.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use waggle_service::log;

/// The same check is reported at most once in this time.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Each thing that can keep the sink from its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Check {
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

/// The state of all checks.
#[derive(Debug, Default)]
pub(crate) struct Health {
    states: Mutex<HashMap<Check, State>>,
}

#[derive(Debug, Default)]
struct State {
    problem: Option<String>,
    /// It was logged.
    is_reported: bool,
    /// When a problem was last reported.
    reported: Option<Instant>,
    /// Not reported since.
    silent: u64,
}

/// What to log.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Problem(u64),
    Over,
}

impl Health {
    /// Something is wrong.
    pub(crate) fn fail(&self, check: Check, problem: &str) {
        if let Said::Problem(silent) = self.note(check, problem, Instant::now()) {
            match silent {
                0 => log::warn(format_args!("{problem}")),
                more => log::warn(format_args!("{problem} (and {more} times before)")),
            }
        }
    }

    /// Nothing is wrong (any more).
    pub(crate) fn pass(&self, check: Check) {
        if self.end(check) == Said::Over {
            log::note(format_args!("{} again", check.name()));
        }
    }

    /// Why the sink does not do its work, the most important reason first.
    pub(crate) fn problem(&self) -> Option<String> {
        let states = self.lock();
        let checks = [
            Check::Draining,
            Check::Access,
            Check::Database,
            Check::DeadLetters,
            Check::Kafka,
            Check::Topics,
            Check::Group,
            Check::Commit,
        ];
        checks
            .iter()
            .find_map(|check| states.get(check)?.problem.clone())
    }

    pub(crate) fn is_failing(&self, check: Check) -> bool {
        self.lock()
            .get(&check)
            .is_some_and(|state| state.problem.is_some())
    }

    /// Something is wrong, and nothing is logged.
    pub(crate) fn fail_silently(&self, check: Check, problem: &str) {
        self.lock().entry(check).or_default().problem = Some(problem.to_owned());
    }

    fn note(&self, check: Check, problem: &str, now: Instant) -> Said {
        let mut states = self.lock();
        let state = states.entry(check).or_default();
        state.problem = Some(problem.to_owned());
        let is_due = (state.reported).is_none_or(|reported| now - reported >= REPORT_EVERY);
        if is_due {
            state.reported = Some(now);
            state.is_reported = true;
            Said::Problem(std::mem::take(&mut state.silent))
        } else {
            state.silent += 1;
            Said::Nothing
        }
    }

    fn end(&self, check: Check) -> Said {
        let mut states = self.lock();
        let Some(state) = states.get_mut(&check) else {
            return Said::Nothing;
        };
        state.problem = None;
        if std::mem::take(&mut state.is_reported) {
            Said::Over
        } else {
            Said::Nothing
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Check, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Check {
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
        assert_eq!(health.end(Check::Database), Said::Nothing);
        assert_eq!(health.note(Check::Database, "away", now), Said::Problem(0));
        assert_eq!(health.note(Check::Database, "away", now), Said::Nothing);
        assert_eq!(health.note(Check::Kafka, "away", now), Said::Problem(0));
        let later = now + REPORT_EVERY;
        assert_eq!(
            health.note(Check::Database, "away", later),
            Said::Problem(1)
        );
        assert_eq!(health.end(Check::Database), Said::Over);
        assert_eq!(health.end(Check::Database), Said::Nothing);
        // One that flickers is as bounded.
        assert_eq!(health.note(Check::Database, "away", later), Said::Nothing);
        assert_eq!(health.end(Check::Database), Said::Nothing);
    }

    #[test]
    fn the_most_telling_problem_is_shown() {
        let health = Health::default();
        assert_eq!(health.problem(), None);
        health.fail_silently(Check::Group, "not yet");
        health.fail_silently(Check::Access, "401");
        assert_eq!(health.problem().as_deref(), Some("401"));
        assert!(health.is_failing(Check::Group));
        health.pass(Check::Access);
        assert_eq!(health.problem().as_deref(), Some("not yet"));
    }
}
