//! Records accepted by an instant of a trial, and what of them was not yet visible when somebody looked.

use waggle_results::{BacklogRow, IntervalRow};

use crate::recording::histogram::as_f64;

/// Records accepted over time; an interval's acceptances are spread evenly over it.
#[derive(Debug)]
pub(crate) struct Accepted<'a> {
    /// Each begins after the one before.
    intervals: &'a [IntervalRow],
    /// Before each of them, in all.
    before: Vec<u64>,
}

impl<'a> Accepted<'a> {
    pub(crate) fn from_intervals(intervals: &'a [IntervalRow]) -> Self {
        let mut sum = 0;
        let before = |row: &IntervalRow| {
            let before = sum;
            sum += row.counts.records_succeeded;
            before
        };
        Self {
            before: intervals.iter().map(before).collect(),
            intervals,
        }
    }

    /// How many were accepted by an instant.
    pub(crate) fn accepted_by(&self, at_s: f64) -> f64 {
        let begun = self.intervals.partition_point(|row| row.start_s <= at_s);
        let Some(last) = begun.checked_sub(1) else {
            return 0.0;
        };
        let row = &self.intervals[last];
        let share = match row.counts.seconds {
            seconds if seconds > 0.0 => ((at_s - row.start_s) / seconds).min(1.0),
            _ => 0.0,
        };
        as_f64(self.before[last]) + share * as_f64(row.counts.records_succeeded)
    }

    /// Accepted by the instant of a look, less what was visible then; a store that shows more than was answered so far is not
    /// behind.
    pub(crate) fn backlog_at(&self, look: &BacklogRow) -> f64 {
        (self.accepted_by(look.at_s) - as_f64(look.visible)).max(0.0)
    }

    /// Most that waited at a look within a stretch of time; `None` where nobody looked.
    pub(crate) fn waiting_max(
        &self,
        looks: &[BacklogRow],
        (from_s, to_s): (f64, f64),
    ) -> Option<f64> {
        let within = looks.iter();
        within
            .filter(|look| (from_s..=to_s).contains(&look.at_s))
            .map(|look| self.backlog_at(look))
            .reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::CountsRow;

    use super::*;

    /// Intervals of two seconds from 1 s on, the last of half a second.
    fn intervals() -> Vec<IntervalRow> {
        let row = |(start_s, seconds, records_succeeded)| IntervalRow {
            start_s,
            counts: CountsRow {
                seconds,
                records_succeeded,
                ..CountsRow::default()
            },
            ..IntervalRow::default()
        };
        [(1.0, 2.0, 10), (3.0, 2.0, 0), (5.0, 2.0, 40), (7.0, 0.5, 6)]
            .map(row)
            .to_vec()
    }

    #[test]
    fn acceptances_are_spread_over_their_interval() {
        let rows = intervals();
        let accepted = Accepted::from_intervals(&rows);
        let check = |at_s: f64, expected: f64| {
            assert!(
                (accepted.accepted_by(at_s) - expected).abs() < 1e-9,
                "at {at_s} s"
            );
        };
        check(-1.0, 0.0);
        check(1.0, 0.0);
        check(2.0, 5.0);
        check(3.0, 10.0);
        check(4.9, 10.0);
        check(5.5, 20.0);
        check(7.0, 50.0);
        check(7.25, 53.0);
        check(100.0, 56.0);
        assert_eq!(
            Accepted::from_intervals(&[]).accepted_by(1.0).to_string(),
            "0"
        );
    }

    #[test]
    fn what_waits_is_accepted_and_not_visible() {
        let rows = intervals();
        let accepted = Accepted::from_intervals(&rows);
        let looks = [(2.0, 9), (5.5, 3), (6.0, 29), (9.0, 0)]
            .map(|(at_s, visible)| BacklogRow { at_s, visible });
        let check = |within: (f64, f64), expected: Option<f64>| {
            assert_eq!(accepted.waiting_max(&looks, within), expected, "{within:?}");
        };
        check((0.0, 3.0), Some(0.0));
        check((0.0, 8.0), Some(17.0));
        check((6.0, 8.0), Some(1.0));
        check((0.0, 9.0), Some(56.0));
        check((3.0, 5.0), None);
    }
}
