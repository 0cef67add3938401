//! What a number shows of a difference, by one rule for sentences, tables and charts.

use waggle_stats::{Estimate, side_of};

/// What an estimate shows of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It differs, and that holds together with all other statements of the report.
    Together,
    /// Its interval says that it differs; among so many statements that may be chance.
    Alone,
    /// Its interval contains that there is no difference.
    Nothing,
    /// There is no interval.
    Unknown,
}

impl Shown {
    /// `is_together`: by its p-value it holds together with the others. `neutral`: the value without a difference.
    #[must_use]
    pub fn new(estimate: &Estimate, neutral: f64, is_together: bool) -> Self {
        match (estimate.interval, side_of(estimate, neutral)) {
            (None, _) => Self::Unknown,
            (Some(_), None) => Self::Nothing,
            (Some(_), Some(_)) if is_together => Self::Together,
            (Some(_), Some(_)) => Self::Alone,
        }
    }

    /// Of a ratio.
    #[must_use]
    pub fn of_ratio(ratio: &Estimate, is_together: bool) -> Self {
        Self::new(ratio, 1.0, is_together)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_and_the_other_statements_decide() {
        let check = |interval: Option<(f64, f64)>, is_together: bool, expected: Shown| {
            let estimate = Estimate {
                point: 2.0,
                interval,
                count: 6,
                least: None,
            };
            assert_eq!(
                Shown::of_ratio(&estimate, is_together),
                expected,
                "{interval:?}"
            );
        };
        check(Some((1.5, 2.5)), true, Shown::Together);
        check(Some((1.5, 2.5)), false, Shown::Alone);
        check(Some((0.9, 2.5)), true, Shown::Nothing);
        check(Some((0.9, 2.5)), false, Shown::Nothing);
        check(None, true, Shown::Unknown);
    }
}
