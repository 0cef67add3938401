//! When requests fell due that were sent long ago: the schedule, asked again by worker and index.
//!
//! Nothing is kept per request. A worker sends its requests in the order in which they fall due, so that as long as none was skipped
//! the n-th one sent is the n-th one of the schedule.

use std::collections::VecDeque;

use waggle_spec::LoadModel;

use super::{
    rate_profile::RateProfile,
    schedule::{Schedule, Walk},
};
use crate::job::{Job, What};

/// Due instants that are made at once.
const CHUNK: u64 = 1_024;
/// Chunks that are kept, of 8 KiB each: records arrive nearly in the order in which they were sent, partition by partition.
const CHUNKS_KEPT: usize = 128;

/// The due instants of an open load.
#[derive(Debug, Clone)]
pub struct DueTimes {
    workers: Vec<WorkerDueTimes>,
}

#[derive(Debug, Clone)]
struct WorkerDueTimes {
    schedule: Schedule,
    /// The position after the newest chunk that was made.
    ahead: Walk,
    /// Index of the first request and its chunk's due instants, in the order in which they were made.
    chunks: VecDeque<(u64, Vec<u64>)>,
}

impl DueTimes {
    /// `None` if requests fall due by something else than a schedule.
    #[must_use]
    pub fn new(job: &Job) -> Option<Self> {
        let LoadModel::Open {
            rate_per_s,
            arrivals,
            ..
        } = job.model
        else {
            return None;
        };
        if matches!(job.what, What::Scenario(_)) {
            return None;
        }
        let workers = job.sending_workers();
        let course = RateProfile::new(rate_per_s, &job.stages);
        let schedule = |worker| Schedule::new(arrivals, course.clone(), worker, workers, job.seed);
        Some(Self {
            workers: (0..workers)
                .map(|worker| WorkerDueTimes::new(schedule(worker)))
                .collect(),
        })
    }

    /// When the request that this worker sent as its `index`-th (from 0) fell due, in nanoseconds since the start of the load, if
    /// none before it was skipped. `None` if there is no such worker.
    pub fn due_ns(&mut self, worker: usize, index: u64) -> Option<u64> {
        Some(self.workers.get_mut(worker)?.due(index))
    }
}

impl WorkerDueTimes {
    fn new(schedule: Schedule) -> Self {
        Self {
            ahead: schedule.walk(),
            schedule,
            chunks: VecDeque::new(),
        }
    }

    fn due(&mut self, index: u64) -> u64 {
        let first = index - index % CHUNK;
        let in_chunk = usize::try_from(index % CHUNK).expect("a chunk is small");
        if let Some((_, chunk)) = self.chunks.iter().rev().find(|(start, _)| *start == first) {
            return chunk[in_chunk];
        }
        // A record that comes very late needs a walk from the start, which happens once for many of them.
        if self.ahead.index() > first {
            self.ahead = self.schedule.walk();
        }
        while self.ahead.index() < first {
            self.ahead.advance();
        }
        let mut chunk = Vec::with_capacity(usize::try_from(CHUNK).expect("a chunk is small"));
        for _ in 0..CHUNK {
            chunk.push(self.ahead.due());
            self.ahead.advance();
        }
        let due = chunk[in_chunk];
        if self.chunks.len() == CHUNKS_KEPT {
            self.chunks.pop_front();
        }
        self.chunks.push_back((first, chunk));
        due
    }
}

#[cfg(test)]
mod tests {
    use waggle_spec::Arrivals;

    use super::*;

    fn due_times(arrivals: Arrivals, workers: usize) -> (DueTimes, Vec<Vec<u64>>) {
        let rate = RateProfile::constant(50_000.0);
        let schedule = |worker| Schedule::new(arrivals, rate.clone(), worker, workers, 7);
        let dues = |worker| {
            let mut walk = schedule(worker).walk();
            let next = |_| {
                let due = walk.due();
                walk.advance();
                due
            };
            (0..20_000).map(next).collect()
        };
        let of_worker = |worker| WorkerDueTimes {
            ahead: schedule(worker).walk(),
            schedule: schedule(worker),
            chunks: VecDeque::new(),
        };
        let times = DueTimes {
            workers: (0..workers).map(of_worker).collect(),
        };
        (times, (0..workers).map(dues).collect())
    }

    #[test]
    fn they_are_those_of_the_schedule_in_any_order() {
        for arrivals in [Arrivals::Poisson, Arrivals::Uniform] {
            let (mut times, expected) = due_times(arrivals, 2);
            let steps = [1, 7, 4_099, 13_577];
            for step in steps {
                for (worker, dues) in expected.iter().enumerate() {
                    for turn in 0..400 {
                        let index = turn * step % 20_000;
                        let due = times.due_ns(worker, index as u64);
                        assert_eq!(due, Some(dues[index]), "{arrivals:?} {worker} {index}");
                    }
                }
            }
            assert_eq!(times.due_ns(2, 0), None);
            for worker in &times.workers {
                assert!(worker.chunks.len() <= CHUNKS_KEPT);
            }
        }
    }
}
