//! *When*, for open load: the instant at which each request of a worker falls due.
//!
//! A pure function of the index. Uniform arrivals are `index ÷ rate`. Poisson arrivals are the sum of exponential gaps,
//! each gap a hash of seed and index, kept as a whole number of nano-requests so that the sum never drifts; dividing
//! that by the rate gives the instant. Each worker has the due instants of its own share: every n-th of the uniform
//! ones, or a Poisson process of its own at its part of the rate (independent Poisson processes add up to one).

use crate::{Arrivals, chance::Stream, clock::NS_PER_S};

/// The due instants of one worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// Uniform: of the whole load. Poisson: of this worker.
    rate_per_s: f64,
    worker: u64,
    workers: u64,
    gaps: Stream,
}

impl Schedule {
    /// The share of `worker` (counted from 0) out of `workers`, for a load of `rate_per_s` in all.
    pub(crate) fn new(
        arrivals: Arrivals,
        rate_per_s: f64,
        worker: usize,
        workers: usize,
        seed: u64,
    ) -> Self {
        let own_rate = match arrivals {
            Arrivals::Uniform => rate_per_s,
            Arrivals::Poisson => rate_per_s / workers as f64,
        };
        let gaps = Stream::new(seed, worker as u64);
        Self {
            arrivals,
            rate_per_s: own_rate,
            worker: worker as u64,
            workers: workers as u64,
            gaps,
        }
    }

    /// A walk over the due instants from the first one on. Two walks over one schedule give the same instants.
    pub(crate) fn walk(self) -> Walk {
        let mut walk = Walk {
            schedule: self,
            index: 0,
            units: 0,
            due: 0,
        };
        walk.arrive();
        walk
    }
}

/// A place in a schedule.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    schedule: Schedule,
    index: u64,
    /// Poisson: where this request stands in a process of rate one, in billionths of a request.
    units: u64,
    due: u64,
}

impl Walk {
    /// When the request at this place falls due, in nanoseconds since the start of the run.
    #[inline]
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// The index of the request at this place among the worker's.
    #[inline]
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// Goes on to the next request.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.index += 1;
        self.arrive();
    }

    fn arrive(&mut self) {
        let schedule = self.schedule;
        let nano_requests = match schedule.arrivals {
            Arrivals::Uniform => {
                (schedule.worker + self.index * schedule.workers) as f64 * NS_PER_S as f64
            }
            Arrivals::Poisson => {
                self.units +=
                    (schedule.gaps.exponential(self.index) * NS_PER_S as f64).round() as u64;
                self.units as f64
            }
        };
        self.due = (nano_requests / schedule.rate_per_s).round() as u64;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dues(schedule: Schedule, count: usize) -> Vec<u64> {
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
    fn uniform_arrivals_stand_at_index_over_rate() {
        let check = |rate: f64, worker, workers, expected: &[u64]| {
            let found = dues(
                Schedule::new(Arrivals::Uniform, rate, worker, workers, 1),
                expected.len(),
            );
            assert_eq!(found, expected, "rate {rate}, worker {worker} of {workers}");
        };
        check(1_000.0, 0, 1, &[0, 1_000_000, 2_000_000, 3_000_000]);
        check(1_000.0, 1, 2, &[1_000_000, 3_000_000, 5_000_000]);
        check(3.0, 0, 1, &[0, 333_333_333, 666_666_667, 1_000_000_000]);
        check(0.5, 2, 3, &[4_000_000_000, 10_000_000_000]);
    }

    #[test]
    fn uniform_arrivals_do_not_drift_in_ten_million() {
        let mut walk = Schedule::new(Arrivals::Uniform, 30_000.0, 0, 1, 1).walk();
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
                Schedule::new(Arrivals::Poisson, rate, workers - 1, workers, seed),
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
    fn seeds_and_workers_have_arrivals_of_their_own() {
        let first =
            |seed, worker| dues(Schedule::new(Arrivals::Poisson, 100.0, worker, 2, seed), 10);
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
    }

    proptest! {
        #[test]
        fn any_schedule_is_ordered_repeatable_and_counted(
            rate in 0.1_f64..1e6, worker in 0_usize..4, more in 0_usize..4, seed: u64, poisson: bool
        ) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Uniform };
            let schedule = Schedule::new(arrivals, rate, worker, worker + 1 + more, seed);
            let once = dues(schedule, 500);
            prop_assert!(once.is_sorted());
            prop_assert_eq!(once, dues(schedule, 500));
        }

        #[test]
        fn the_shares_of_uniform_workers_make_up_the_whole(rate in 1.0_f64..1e6, workers in 1_usize..5) {
            let whole = dues(Schedule::new(Arrivals::Uniform, rate, 0, 1, 0), 60 * workers);
            let mut shares: Vec<u64> = (0..workers)
                .flat_map(|worker| dues(Schedule::new(Arrivals::Uniform, rate, worker, workers, 0), 60))
                .collect();
            shares.sort_unstable();
            prop_assert_eq!(whole, shares);
        }
    }
}
