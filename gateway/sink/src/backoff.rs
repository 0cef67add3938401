//! The wait before a retry: exponential backoff with jitter. No I/O.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// The longest wait that a database can ask for.
pub(crate) const ASKED_MAX: Duration = Duration::from_secs(60);

/// Bounds of the wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) most: Duration,
}

impl Backoff {
    /// The wait after so many failures in a row (from 1): it doubles up to `most`. `chance` (0 to 1) reduces it to between a half
    /// and the whole, so that retries spread. It is at least what the database asked for, up to [`ASKED_MAX`].
    pub(crate) fn wait(&self, failures: u32, asked: Option<Duration>, chance: f64) -> Duration {
        let doubled = self.first.saturating_mul(
            1_u32
                .checked_shl(failures.saturating_sub(1))
                .unwrap_or(u32::MAX),
        );
        let whole = doubled.min(self.most);
        let wait = whole.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        wait.max(asked.unwrap_or_default().min(ASKED_MAX))
    }
}

/// A random number from 0 to 1, good enough for jitter.
pub(crate) fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(failures: u32, asked: Option<u64>, chance: f64, expected_ms: u64) {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_secs(2),
        };
        let wait = backoff.wait(failures, asked.map(Duration::from_secs), chance);
        assert_eq!(wait, Duration::from_millis(expected_ms), "after {failures}");
    }

    #[test]
    fn waits_double_up_to_the_most() {
        for (failures, expected) in [
            (1, 100),
            (2, 200),
            (5, 1600),
            (6, 2000),
            (40, 2000),
            (u32::MAX, 2000),
        ] {
            check(failures, None, 1.0, expected);
            check(failures, None, 0.0, expected / 2);
        }
        check(0, None, 1.0, 100);
    }

    #[test]
    fn requested_wait_is_respected_up_to_a_limit() {
        check(1, Some(7), 1.0, 7_000);
        check(6, Some(1), 1.0, 2_000);
        check(1, Some(3600), 1.0, 60_000);
    }

    #[test]
    fn chance_varies() {
        let chances: Vec<f64> = (0..20).map(|_| chance()).collect();
        assert!(
            chances.iter().all(|chance| (0.0..=1.0).contains(chance)),
            "{chances:?}"
        );
        assert!(
            chances.iter().any(|chance| *chance != chances[0]),
            "{chances:?}"
        );
    }
}
