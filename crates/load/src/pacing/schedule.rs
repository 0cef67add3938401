//! *When*, for open load: the instant at which each request of a worker falls due.
//!
//! A pure function of the index. A uniform arrival is at the instant at which the rate profile has accumulated `index` requests.
//! Poisson arrivals are the sum of exponential gaps; each gap is a hash of seed and index, an integer of billionths of a request
//! so that the sum never drifts, and the rate profile maps the sum to an instant. Each worker has the due instants of its own
//! partition: every n-th of the uniform ones, or its own Poisson process at its part of the rate (independent Poisson processes
//! add up to one).

use waggle_spec::Arrivals;

use super::rate_profile::{RateProfile, position_of};
use crate::{machine::clock::NS_PER_S, random::stream::RandomStream};

/// The due instants of one worker.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// Of the whole load.
    course: RateProfile,
    worker: u64,
    workers: u64,
    gaps: RandomStream,
}

impl Schedule {
    /// The part of `worker` (counted from 0) out of `workers` of the total load.
    pub(crate) fn new(
        arrivals: Arrivals,
        course: RateProfile,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> Self {
        Self {
            arrivals,
            course,
            worker: worker as u64,
            workers: workers as u64,
            gaps: RandomStream::new(seed, worker as u64),
        }
    }

    /// A walk over the due instants from the first one.
    pub(crate) fn walk(&self) -> Walk {
        let mut walk = Walk {
            schedule: self.clone(),
            index: 0,
            billionths: 0,
            segment: 0,
            due: 0,
        };
        walk.arrive();
        walk
    }
}

/// A position in a schedule.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    schedule: Schedule,
    index: u64,
    /// Poisson: the position of this request in a process of rate one, in billionths of a request.
    billionths: u128,
    /// The segment of the last answer.
    segment: usize,
    due: u64,
}

impl Walk {
    /// When the request at this position falls due, in nanoseconds since the start of the run; [`NEVER`](super::rate_profile::NEVER)
    /// after the last one.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// The index of the request at this position among the worker's.
    #[inline]
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// When the rate profile ends.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.schedule.course.end()
    }

    /// Moves to the next request.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.index += 1;
        self.arrive();
    }

    /// How many requests of this worker fall due from this position up to `last`, without a walk through them. For Poisson
    /// arrivals, whose exact number needs a walk, it is the expected number.
    pub(crate) fn due_until(&self, last: u64) -> u64 {
        if self.due > last {
            return 0;
        }
        let schedule = &self.schedule;
        let ahead = schedule
            .course
            .due_until(last)
            .saturating_sub(self.position());
        let behind_this = ahead / position_of(schedule.workers);
        u64::try_from(behind_this).map_or(u64::MAX, |requests| requests.saturating_add(1))
    }

    fn arrive(&mut self) {
        let schedule = &self.schedule;
        if schedule.arrivals == Arrivals::Poisson {
            let gap = schedule.gaps.exponential(self.index) * NS_PER_S as f64;
            self.billionths += u128::from(gap.round() as u64);
        }
        self.due = self
            .schedule
            .course
            .instant(self.position(), &mut self.segment);
    }

    /// The position of this request in the whole load, in billionths of a request.
    #[inline]
    fn position(&self) -> u128 {
        let schedule = &self.schedule;
        match schedule.arrivals {
            Arrivals::Uniform => position_of(schedule.worker + self.index * schedule.workers),
            Arrivals::Poisson => self.billionths * u128::from(schedule.workers),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use waggle_spec::LoadStage;

    use super::*;

    fn dues(schedule: &Schedule, count: usize) -> Vec<u64> {
        let mut walk = schedule.walk();
        (0..count)
            .map(|_| {
                let due = walk.due();
                walk.advance();
                due
            })
            .collect()
    }

    #[test]
    fn uniform_arrivals_are_at_index_over_rate() {
        let check = |rate: f64, worker, workers, expected: &[u64]| {
            let instants = dues(
                &Schedule::new(
                    Arrivals::Uniform,
                    RateProfile::constant(rate),
                    worker,
                    workers,
                    1,
                ),
                expected.len(),
            );
            assert_eq!(
                instants, expected,
                "rate {rate}, worker {worker} of {workers}"
            );
        };
        check(1_000.0, 0, 1, &[0, 1_000_000, 2_000_000, 3_000_000]);
        check(1_000.0, 1, 2, &[1_000_000, 3_000_000, 5_000_000]);
        check(3.0, 0, 1, &[0, 333_333_333, 666_666_667, 1_000_000_000]);
        check(0.5, 2, 3, &[4_000_000_000, 10_000_000_000]);
    }

    #[test]
    fn uniform_arrivals_do_not_drift_in_ten_million() {
        let mut walk =
            Schedule::new(Arrivals::Uniform, RateProfile::constant(30_000.0), 0, 1, 1).walk();
        for _ in 0..9_000_000 {
            walk.advance();
        }
        assert_eq!(walk.due(), 300 * NS_PER_S);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_their_rate() {
        for (seed, workers) in [(1, 1), (2, 1), (3, 2), (4, 3)] {
            let rate = 5_000.0;
            let count = 200_000;
            let all = dues(
                &Schedule::new(
                    Arrivals::Poisson,
                    RateProfile::constant(rate),
                    workers - 1,
                    workers,
                    seed,
                ),
                count,
            );
            let expected = workers as f64 / rate * 1e9;
            let gaps: Vec<f64> = all
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as f64 / expected)
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance =
                gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Four standard errors: 1/√n for the mean, √8/√n for the variance of an exponential.
            assert!(
                (mean - 1.0).abs() < 4.0 / (count as f64).sqrt(),
                "seed {seed}: mean gap {mean}"
            );
            assert!(
                (variance - 1.0).abs() < 12.0 / (count as f64).sqrt(),
                "seed {seed}: variance {variance}"
            );
        }
    }

    #[test]
    fn seeds_and_workers_have_their_own_arrivals() {
        let first = |seed, worker| {
            dues(
                &Schedule::new(
                    Arrivals::Poisson,
                    RateProfile::constant(100.0),
                    worker,
                    2,
                    seed,
                ),
                10,
            )
        };
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
    }

    #[test]
    fn poisson_arrivals_follow_the_stages() {
        // 1,000/s for 20 s, nothing for 10 s, 10,000/s for 2 s: each stage within four standard deviations of its mean.
        let stages = [(1e3, 0), (1e3, 20), (0.0, 0), (0.0, 10), (1e4, 0), (1e4, 2)];
        let rate = RateProfile::with_stages(&stages.map(|(target, seconds)| LoadStage {
            target,
            duration: Duration::from_secs(seconds),
        }));
        for workers in [1, 2, 3] {
            let all: Vec<u64> = (0..workers)
                .flat_map(|worker| {
                    let schedule =
                        Schedule::new(Arrivals::Poisson, rate.clone(), worker, workers, 5);
                    dues(&schedule, 50_000)
                })
                .collect();
            let check = |from: u64, to: u64, mean: f64| {
                let is_in = |due: &&u64| (from * NS_PER_S..to * NS_PER_S).contains(*due);
                let count = all.iter().filter(is_in).count() as f64;
                assert!(
                    (count - mean).abs() <= 4.0 * mean.sqrt(),
                    "{count} from {from} s to {to} s, {workers} workers"
                );
            };
            check(0, 20, 20_000.0);
            check(20, 30, 0.0);
            check(30, 32, 20_000.0);
            check(32, 1_000, 0.0);
        }
    }

    fn any_rate() -> impl Strategy<Value = RateProfile> {
        let stage = (0.0_f64..1e5, 0_u64..200).prop_map(|(target, ms)| LoadStage {
            target,
            duration: Duration::from_millis(ms),
        });
        prop_oneof![
            (0.1_f64..1e6).prop_map(RateProfile::constant),
            prop::collection::vec(stage, 1..6).prop_map(|stages| RateProfile::with_stages(&stages)),
        ]
    }

    proptest! {
        #[test]
        fn any_schedule_is_ordered_repeatable_and_counted(
            rate in any_rate(), worker in 0_usize..4, more in 0_usize..4, seed: u64, poisson: bool
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let schedule = Schedule::new(arrivals, rate.clone(), worker, worker + 1 + more, seed);
            let once = dues(&schedule, 500);
            prop_assert!(once.is_sorted());
            prop_assert_eq!(once, dues(&schedule, 500));
        }

        #[test]
        fn the_parts_of_uniform_workers_make_up_the_whole(rate in any_rate(), workers in 1_usize..5) {
            let whole = dues(&Schedule::new(Arrivals::Uniform, rate.clone(), 0, 1, 0), 60 * workers);
            let mut partitions: Vec<u64> = (0..workers)
                .flat_map(|worker| dues(&Schedule::new(Arrivals::Uniform, rate.clone(), worker, workers, 0), 60))
                .collect();
            partitions.sort_unstable();
            prop_assert_eq!(whole, partitions);
        }
    }
}
