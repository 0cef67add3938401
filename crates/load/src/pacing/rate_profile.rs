//! *When*, for open load: a rate over time, and the instant at which a number of requests has fallen due.
//!
//! A rate of r requests per second is r billionths of a request per nanosecond, so a profile counts in billionths: the rounding
//! of one stage is below any request, and stages with whole numbers of requests have exactly those.

use std::sync::Arc;

use waggle_spec::LoadStage;

use crate::machine::clock::{NS_PER_S, whole_nanoseconds};

/// The instant of a request that never falls due.
pub(crate) const NEVER: u64 = u64::MAX;

/// A rate over time, prepared for the question "when is the n-th request due?".
#[derive(Debug, Clone)]
pub(crate) struct RateProfile {
    segments: Arc<[Segment]>,
    /// Number of requests, in billionths.
    total: u128,
    /// When the last stage ends, in nanoseconds since the start of the run.
    end: u64,
}

/// A stretch of time in which the rate changes linearly.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Nanoseconds since the start of the run.
    start: u64,
    end: u64,
    /// Requests that fall due before it, in billionths.
    before: u128,
    rate_per_s: f64,
    /// Growth of the rate per nanosecond.
    slope: f64,
}

impl RateProfile {
    /// The same rate from start to end, above 0; with stages theirs.
    pub(crate) fn new(per_s: f64, stages: &[LoadStage]) -> Self {
        match stages.is_empty() {
            true => Self::constant(per_s),
            false => Self::with_stages(stages),
        }
    }

    pub(crate) fn constant(per_s: f64) -> Self {
        Self {
            segments: Arc::new([Segment {
                start: 0,
                end: NEVER,
                before: 0,
                rate_per_s: per_s,
                slope: 0.0,
            }]),
            total: u128::MAX,
            end: NEVER,
        }
    }

    pub(crate) fn with_stages(stages: &[LoadStage]) -> Self {
        let mut segments = Vec::with_capacity(stages.len());
        let (mut start, mut before, mut rate_per_s) = (0, 0, 0.0);
        for stage in stages {
            let length = whole_nanoseconds(stage.duration);
            let end = u64::saturating_add(start, length);
            if length > 0 {
                segments.push(Segment {
                    start,
                    end,
                    before,
                    rate_per_s,
                    slope: (stage.target - rate_per_s) / length as f64,
                });
                let mean = f64::midpoint(rate_per_s, stage.target);
                before += (mean * length as f64).round() as u128;
            }
            start = end;
            rate_per_s = stage.target;
        }
        Self {
            segments: segments.into(),
            total: before,
            end: start,
        }
    }

    /// When it ends; [`NEVER`] for a constant rate.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The instant at which `position` billionths of requests have fallen due; [`NEVER`] if there are fewer.
    ///
    /// `segment` is where the search begins: that of any earlier position, 0 for the first.
    #[inline]
    pub(crate) fn instant(&self, position: u128, segment: &mut usize) -> u64 {
        if position >= self.total {
            return NEVER;
        }
        // The last segment that begins at or before this position; segments in which nothing falls due are skipped.
        while self
            .segments
            .get(*segment + 1)
            .is_some_and(|next| next.before <= position)
        {
            *segment += 1;
        }
        self.segments[*segment].instant(position)
    }

    /// The last position, in billionths of a request, that has fallen due by `instant`.
    pub(crate) fn due_until(&self, instant: u64) -> u128 {
        let segment = self
            .segments
            .partition_point(|segment| segment.start <= instant);
        let Some(segment) = segment
            .checked_sub(1)
            .map(|segment| &self.segments[segment])
        else {
            return 0;
        };
        let last = self.total.saturating_sub(1);
        (segment.before + segment.due_until(instant)).min(last)
    }
}

impl Segment {
    /// Solves `rate × t + slope ÷ 2 × t² = requests` for t, in the form that loses no digits if the slope is small.
    #[inline]
    fn instant(&self, position: u128) -> u64 {
        let requests = (position - self.before) as f64;
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

/// The position of a request.
#[inline]
pub(crate) fn position_of(request: u64) -> u128 {
    u128::from(request) * u128::from(NS_PER_S)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn course(stages: &[(f64, f64)]) -> RateProfile {
        let stages = stages.iter().map(|&(target, seconds)| LoadStage {
            target,
            duration: Duration::from_secs_f64(seconds),
        });
        RateProfile::with_stages(&stages.collect::<Vec<_>>())
    }

    fn instants(course: &RateProfile) -> Vec<u64> {
        let mut segment = 0;
        (0..)
            .map(|request| course.instant(position_of(request), &mut segment))
            .take_while(|instant| *instant != NEVER)
            .collect()
    }

    /// Stages `(rate at its end, seconds)`, and the requests that fall due in each.
    fn check(stages: &[(f64, f64)], expected: &[usize]) {
        let instants = instants(&course(stages));
        let mut end = 0.0;
        let counts: Vec<usize> = stages
            .iter()
            .map(|&(_, seconds)| {
                let start = end;
                end += seconds * 1e9;
                let is_in = |instant: &&u64| (start..end).contains(&(**instant as f64));
                instants.iter().filter(is_in).count()
            })
            .collect();
        assert_eq!(counts, expected, "{stages:?}");
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
        // Tenths have no exact binary form; the number of requests is exact all the same.
        check(
            &[(0.1, 0.0), (0.1, 10.0), (0.7, 0.0), (0.7, 10.0)],
            &[0, 1, 0, 7],
        );
        check(&[(0.0, 1.0), (10.0, 1.0)], &[0, 5]);
    }

    #[test]
    fn requests_of_a_rising_rate_are_at_the_root_of_their_number() {
        // 1,000/s after 1 s: n requests have fallen due after √(n ÷ 500) seconds.
        let moments = instants(&course(&[(1_000.0, 1.0)]));
        for (request, instant) in moments.iter().enumerate() {
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
        fn instants_are_ordered_within_their_stages_and_independent_of_the_start_segment(
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
                prop_assert_eq!(course.instant(position_of(request as u64), &mut 0), *instant);
            }
            prop_assert_eq!(once.len() as u128, course.total.div_ceil(u128::from(NS_PER_S)));
        }
    }
}
