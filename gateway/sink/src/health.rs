//! Health checks: whether the sink works, why not, and rate-limited log lines about it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use waggle_service::log;

/// Shortest time between two reports of the same check.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Everything that can keep the sink from working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Check {
    /// The group has not assigned partitions yet.
    Group,
    /// Kafka does not accept the sink, or the sink not its certificate.
    KafkaAccess,
    Kafka,
    Topics,
    Commit,
    DeadLetters,
    /// The database is unreachable, or asks to wait.
    Database,
    /// The database refuses the sink, not its lines: a wrong token, a missing bucket.
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
    /// Whether the problem was logged.
    is_reported: bool,
    /// Time of the last report.
    reported: Option<Instant>,
    /// Failures since then that were not reported.
    silent: u64,
}

/// What to log.
#[derive(Debug, PartialEq, Eq)]
enum LogEvent {
    Nothing,
    Problem(u64),
    Over,
}

impl Health {
    /// The check has failed.
    pub(crate) fn fail(&self, check: Check, problem: &str) {
        if let LogEvent::Problem(silent) = self.note(check, problem, Instant::now()) {
            match silent {
                0 => log::warn(format_args!("{problem}")),
                more => log::warn(format_args!("{problem} (and {more} times before)")),
            }
        }
    }

    /// The check has passed.
    pub(crate) fn pass(&self, check: Check) {
        if self.end(check) == LogEvent::Over {
            log::note(format_args!("{} again", check.name()));
        }
    }

    /// The most important reason why the sink does not work.
    pub(crate) fn problem(&self) -> Option<String> {
        let states = self.lock();
        let checks = [
            Check::Draining,
            Check::Access,
            Check::Database,
            Check::DeadLetters,
            Check::KafkaAccess,
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

    /// The check has failed; does not log it.
    pub(crate) fn fail_silently(&self, check: Check, problem: &str) {
        self.lock().entry(check).or_default().problem = Some(problem.to_owned());
    }

    fn note(&self, check: Check, problem: &str, now: Instant) -> LogEvent {
        let mut states = self.lock();
        let state = states.entry(check).or_default();
        state.problem = Some(problem.to_owned());
        let is_due = (state.reported).is_none_or(|reported| now - reported >= REPORT_EVERY);
        if is_due {
            state.reported = Some(now);
            state.is_reported = true;
            LogEvent::Problem(std::mem::take(&mut state.silent))
        } else {
            state.silent += 1;
            LogEvent::Nothing
        }
    }

    fn end(&self, check: Check) -> LogEvent {
        let mut states = self.lock();
        let Some(state) = states.get_mut(&check) else {
            return LogEvent::Nothing;
        };
        state.problem = None;
        if std::mem::take(&mut state.is_reported) {
            LogEvent::Over
        } else {
            LogEvent::Nothing
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
            Self::KafkaAccess => "Kafka accepts the sink",
            Self::Kafka => "Kafka answers",
            Self::Topics => "the topics exist",
            Self::Commit => "offsets are committed",
            Self::DeadLetters => "dead letters are written",
            Self::Database => "the database answers",
            Self::Access => "the database accepts the sink",
            Self::Draining => "the sink is running",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_a_check_are_rate_limited() {
        let health = Health::default();
        let now = Instant::now();
        assert_eq!(health.end(Check::Database), LogEvent::Nothing);
        assert_eq!(
            health.note(Check::Database, "away", now),
            LogEvent::Problem(0)
        );
        assert_eq!(health.note(Check::Database, "away", now), LogEvent::Nothing);
        assert_eq!(health.note(Check::Kafka, "away", now), LogEvent::Problem(0));
        let later = now + REPORT_EVERY;
        assert_eq!(
            health.note(Check::Database, "away", later),
            LogEvent::Problem(1)
        );
        assert_eq!(health.end(Check::Database), LogEvent::Over);
        assert_eq!(health.end(Check::Database), LogEvent::Nothing);
        // A check that fails and passes repeatedly is limited too.
        assert_eq!(
            health.note(Check::Database, "away", later),
            LogEvent::Nothing
        );
        assert_eq!(health.end(Check::Database), LogEvent::Nothing);
    }

    #[test]
    fn the_most_important_problem_is_shown() {
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
