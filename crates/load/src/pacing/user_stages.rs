//! *When*, for users that start and stop by stages: the periods in which each of them is active.
//!
//! The number of active users follows the stages; user n (counted from 0) is active while that number is above n. Integer
//! arithmetic, so that every worker computes the same instants.

use waggle_spec::LoadStage;

use crate::machine::clock::whole_nanoseconds;

/// Which users are active when.
#[derive(Debug, Clone)]
pub(crate) struct UserStages {
    /// Target and length in nanoseconds; empty: all users are active from the start and stay so.
    stages: Vec<(u64, u64)>,
    end: u64,
}

/// A period in which a user is active, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActivePeriod {
    pub(crate) from: u64,
    /// The end, exclusive.
    pub(crate) until: u64,
}

impl UserStages {
    pub(crate) fn new(stages: &[LoadStage]) -> Self {
        let stages: Vec<(u64, u64)> = stages
            .iter()
            .map(|stage| (users(stage.target), whole_nanoseconds(stage.duration)))
            .collect();
        let end = if stages.is_empty() {
            u64::MAX
        } else {
            stages
                .iter()
                .fold(0, |sum: u64, (_, length)| sum.saturating_add(*length))
        };
        Self { stages, end }
    }

    /// When the last stage ends.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The first period in which a user is active at `instant` or later; `None`: it is no longer needed.
    pub(crate) fn next(&self, user: u64, instant: u64) -> Option<ActivePeriod> {
        if self.stages.is_empty() {
            return Some(ActivePeriod {
                from: 0,
                until: u64::MAX,
            });
        }
        let (mut start, mut users, mut from) = (0_u64, 0, None);
        for &(to, length) in &self.stages {
            if users <= user && user < to {
                from = Some(start.saturating_add(part(length, user - users, to - users)));
            }
            if to <= user && user < users {
                let until = start.saturating_add(part(length, users - user, users - to));
                if let Some(from) = from.take()
                    && until > instant
                {
                    return Some(ActivePeriod { from, until });
                }
            }
            start = start.saturating_add(length);
            users = to;
        }
        from.filter(|_| self.end > instant)
            .map(|from| ActivePeriod {
                from,
                until: self.end,
            })
    }
}

/// A number of users, which a study has whole.
fn users(target: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: from 0 to the most users; the cast saturates"
    )]
    let users = target.round() as u64;
    users
}

/// `length × numerator ÷ denominator`; the part must not be longer than the whole.
fn part(length: u64, numerator: u64, denominator: u64) -> u64 {
    let part = u128::from(length) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(part).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const S: u64 = 1_000_000_000;

    /// Stages `(users, seconds)`; the periods of each user, in seconds.
    fn check(stages: &[(usize, u64)], user: u64, expected: &[(u64, u64)]) {
        let stages: Vec<LoadStage> = stages
            .iter()
            .map(|&(to, seconds)| LoadStage {
                target: to as f64,
                duration: Duration::from_secs(seconds),
            })
            .collect();
        let stages = UserStages::new(&stages);
        let (mut periods, mut instant) = (Vec::new(), 0);
        while let Some(stretch) = stages.next(user, instant) {
            periods.push((stretch.from / S, stretch.until / S));
            instant = stretch.until;
        }
        assert_eq!(periods, expected, "user {user} of {stages:?}");
    }

    #[test]
    fn users_start_and_stop_in_order() {
        let hill: &[(usize, u64)] = &[(10, 10), (10, 5), (0, 20)];
        check(hill, 0, &[(0, 35)]);
        check(hill, 4, &[(4, 27)]);
        check(hill, 9, &[(9, 17)]);
        check(hill, 10, &[]);
    }

    #[test]
    fn jumps_start_and_stop_many_users_at_once() {
        let spike: &[(usize, u64)] = &[(2, 0), (2, 10), (50, 0), (50, 3), (2, 0), (2, 10)];
        check(spike, 0, &[(0, 23)]);
        check(spike, 1, &[(0, 23)]);
        check(spike, 2, &[(10, 13)]);
        check(spike, 49, &[(10, 13)]);
        let twice: &[(usize, u64)] = &[(3, 0), (3, 1), (0, 0), (0, 1), (3, 0), (3, 1)];
        check(twice, 2, &[(0, 1), (2, 3)]);
        // Active for no time.
        check(&[(5, 0), (1, 0), (1, 2)], 4, &[]);
    }

    #[test]
    fn without_stages_all_users_are_always_active() {
        let all = UserStages::new(&[]);
        let always = ActivePeriod {
            from: 0,
            until: u64::MAX,
        };
        assert_eq!(all.next(1_000_000, 5 * S), Some(always));
        assert_eq!(all.end(), u64::MAX);
    }
}
