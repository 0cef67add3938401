//! *When*, for open load: the course of a rate over time, and the instant at which it has brought so many requests.
//!
//! A rate of r requests per second is r billionths of a request per nanosecond, so a course counts in billionths: the
//! rounding of one stage is below any request, and stages with whole numbers of requests have exactly those.

use std::sync::Arc;

use crate::{
    Rate, Stage,
    clock::{NS_PER_S, whole_nanoseconds},
};

/// The instant of what never falls due.
pub(crate) const NEVER: u64 = u64::MAX;

/// A rate over time, made ready for the question "when is the n-th request due?".
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pieces: Arc<[Piece]>,
    /// Requests in all, in billionths.
    total: u128,
    /// When the last stage ends, in nanoseconds since the start of the run.
    end: u64,
}

/// A stretch in which the rate changes evenly.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Nanoseconds since the start of the run.
    start: u64,
    end: u64,
    /// Requests that fall due before it, in billionths.
    before: u128,
    rate_per_s: f64,
    /// How much the rate grows in each nanosecond.
    slope: f64,
}

impl Course {
    pub(crate) fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Constant(per_s) => Self {
                pieces: Arc::new([Piece {
                    start: 0,
                    end: NEVER,
                    before: 0,
                    rate_per_s: *per_s,
                    slope: 0.0,
                }]),
                total: u128::MAX,
                end: NEVER,
            },
            Rate::Stages(stages) => Self::of_stages(stages),
        }
    }

    fn of_stages(stages: &[Stage]) -> Self {
        let mut pieces = Vec::with_capacity(stages.len());
        let (mut start, mut before, mut rate_per_s) = (0, 0, 0.0);
        for stage in stages {
            let length = whole_nanoseconds(stage.over);
            let end = u64::saturating_add(start, length);
            if length > 0 {
                pieces.push(Piece {
                    start,
                    end,
                    before,
                    rate_per_s,
                    slope: (stage.to_per_s - rate_per_s) / length as f64,
                });
                let mean = f64::midpoint(rate_per_s, stage.to_per_s);
                before += (mean * length as f64).round() as u128;
            }
            start = end;
            rate_per_s = stage.to_per_s;
        }
        Self {
            pieces: pieces.into(),
            total: before,
            end: start,
        }
    }

    /// When it ends; [`NEVER`] for a constant rate.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The instant at which `place` billionths of requests have fallen due; [`NEVER`] if there are not as many.
    ///
    /// `piece` is where to begin to look: that of any earlier place, 0 for the first.
    #[inline]
    pub(crate) fn instant(&self, place: u128, piece: &mut usize) -> u64 {
        if place >= self.total {
            return NEVER;
        }
        // The last piece that begins at or before this place: one in which nothing falls due is passed over.
        while self
            .pieces
            .get(*piece + 1)
            .is_some_and(|next| next.before <= place)
        {
            *piece += 1;
        }
        self.pieces[*piece].instant(place)
    }

    /// The last place, in billionths of a request, at which one can have fallen due by `instant`.
    pub(crate) fn due_until(&self, instant: u64) -> u128 {
        let piece = self.pieces.partition_point(|piece| piece.start <= instant);
        let Some(piece) = piece.checked_sub(1).map(|piece| &self.pieces[piece]) else {
            return 0;
        };
        let last = self.total.saturating_sub(1);
        (piece.before + piece.due_until(instant)).min(last)
    }
}

impl Piece {
    /// Solves `rate × t + slope ÷ 2 × t² = requests` for t, in the form that loses no digits where the slope is small.
    #[inline]
    fn instant(&self, place: u128) -> u64 {
        let requests = (place - self.before) as f64;
        if requests == 0.0 {
            return self.start;
        }
        let rate = self.rate_per_s;
        let rate_then = (rate * rate + 2.0 * self.slope * requests).max(0.0).sqrt();
        let after = (2.0 * requests / (rate + rate_then)).round() as u64;
        self.start.saturating_add(after).min(self.end)
    }

    /// Billionths of requests from its start to an instant.
    fn due_until(&self, instant: u64) -> u128 {
        let time = (instant.min(self.end) - self.start) as f64;
        (time * (self.rate_per_s + self.slope * time / 2.0)).round() as u128
    }
}

/// The place of a whole request.
#[inline]
pub(crate) fn place_of(request: u64) -> u128 {
    u128::from(request) * u128::from(NS_PER_S)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn course(stages: &[(f64, f64)]) -> Course {
        let stages = stages
            .iter()
            .map(|&(to_per_s, seconds)| Stage {
                to_per_s,
                over: Duration::from_secs_f64(seconds),
            })
            .collect();
        Course::new(&Rate::Stages(stages))
    }

    fn instants(course: &Course) -> Vec<u64> {
        let mut piece = 0;
        (0..)
            .map(|request| course.instant(place_of(request), &mut piece))
            .take_while(|instant| *instant != NEVER)
            .collect()
    }

    /// Stages `(rate at its end, seconds)`; the requests that fall due in each.
    fn check(stages: &[(f64, f64)], expected: &[usize]) {
        let instants = instants(&course(stages));
        let mut end = 0.0;
        let found: Vec<usize> = stages
            .iter()
            .map(|&(_, seconds)| {
                let start = end;
                end += seconds * 1e9;
                let is_in = |instant: &&u64| (start..end).contains(&(**instant as f64));
                instants.iter().filter(is_in).count()
            })
            .collect();
        assert_eq!(found, expected, "{stages:?}");
        assert_eq!(
            instants.len(),
            expected.iter().sum::<usize>(),
            "{stages:?}: some are in no stage"
        );
    }

    #[test]
    fn every_stage_has_exactly_its_requests() {
        // From 0 up, held, down to 0.
        check(
            &[(1_000.0, 2.0), (1_000.0, 3.0), (0.0, 2.0)],
            &[1_000, 3_000, 1_000],
        );
        // Steps: each is a jump and a plateau.
        check(
            &[(100.0, 0.0), (100.0, 1.0), (500.0, 0.0), (500.0, 1.0)],
            &[0, 100, 0, 500],
        );
        // A spike, and back.
        check(
            &[
                (10.0, 0.0),
                (10.0, 10.0),
                (20_000.0, 0.0),
                (20_000.0, 0.5),
                (10.0, 0.0),
                (10.0, 10.0),
            ],
            &[0, 100, 0, 10_000, 0, 100],
        );
        // Nothing in the middle, and nothing at the end.
        check(
            &[
                (50.0, 0.0),
                (50.0, 2.0),
                (0.0, 0.0),
                (0.0, 5.0),
                (50.0, 0.0),
                (50.0, 2.0),
                (0.0, 0.0),
                (0.0, 1.0),
            ],
            &[0, 100, 0, 0, 0, 100, 0, 0],
        );
        // Tenths have no exact form in binary; the requests are whole all the same.
        check(
            &[(0.1, 0.0), (0.1, 10.0), (0.7, 0.0), (0.7, 10.0)],
            &[0, 1, 0, 7],
        );
        check(&[(0.0, 1.0), (10.0, 1.0)], &[0, 5]);
    }

    #[test]
    fn requests_of_a_rising_rate_stand_at_the_root_of_their_number() {
        // 1,000/s after 1 s: n requests have fallen due after √(n ÷ 500) seconds.
        let found = instants(&course(&[(1_000.0, 1.0)]));
        for (request, instant) in found.iter().enumerate() {
            let expected = (request as f64 / 500.0).sqrt() * 1e9;
            assert!(
                (*instant as f64 - expected).abs() <= 1.0,
                "{request}: {instant}, not {expected}"
            );
        }
    }

    #[test]
    fn after_a_pause_the_next_request_falls_due_as_the_rate_comes_back() {
        let pause = course(&[
            (2.0, 0.0),
            (2.0, 1.0),
            (0.0, 0.0),
            (0.0, 3.0),
            (2.0, 0.0),
            (2.0, 1.0),
        ]);
        assert_eq!(
            instants(&pause),
            [0, NS_PER_S / 2, 4 * NS_PER_S, 9 * NS_PER_S / 2]
        );
    }

    proptest! {
        #[test]
        fn instants_are_in_order_within_their_stages_and_the_same_from_anywhere(
            stages in prop::collection::vec(
                (prop_oneof![Just(0.0), 0.0_f64..2_000.0], prop_oneof![Just(0.0), 0.001_f64..0.5]),
                1..8,
            )
        ) {
            let course = course(&stages);
            let once = instants(&course);
            prop_assert!(once.is_sorted());
            prop_assert!(once.iter().all(|instant| *instant <= course.end()));
            for (request, instant) in once.iter().enumerate().step_by(7) {
                prop_assert_eq!(course.instant(place_of(request as u64), &mut 0), *instant);
            }
            prop_assert_eq!(once.len() as u128, course.total.div_ceil(u128::from(NS_PER_S)));
        }
    }
}
