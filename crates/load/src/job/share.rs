//! Divides the workers of a job among generators.

use serde::{Deserialize, Serialize};

use super::Job;

/// Open files of a worker in addition to its connections, with some spare.
const FILES_PER_WORKER: usize = 8;

/// The part of a job that one generator runs: some of its workers, which follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Counted from 0 over the workers of all generators.
    pub first_worker: usize,
    pub workers: usize,
}

impl Share {
    /// All of a job.
    pub(crate) fn of_all(job: &Job) -> Self {
        Self {
            first_worker: 0,
            workers: job.sending_workers(),
        }
    }

    /// Connections of its workers.
    pub(crate) fn connections(self, job: &Job) -> usize {
        let (groups, size) = job.model.groups();
        let (groups, size, workers) =
            (groups as usize, size as usize, job.sending_workers().max(1));
        let with_one_more = groups % workers;
        let all = self.first_worker..self.end();
        let groups = all.map(|worker| groups / workers + usize::from(worker < with_one_more));
        groups.sum::<usize>() * size
    }

    /// Open files that its workers need.
    pub(crate) fn files(self, job: &Job) -> usize {
        self.connections(job) + self.workers * FILES_PER_WORKER
    }

    /// The first worker after it.
    pub(crate) fn end(self) -> usize {
        self.first_worker.saturating_add(self.workers)
    }
}

/// The shares of this many generators: equal numbers of workers, give or take one, and never none. There are fewer shares if the job
/// has fewer workers with connections.
#[must_use]
pub fn shares(job: &Job, generators: usize) -> Vec<Share> {
    let workers = job.sending_workers();
    let generators = generators.clamp(1, workers.max(1));
    let first =
        |generator: usize| generator * (workers / generators) + generator.min(workers % generators);
    (0..generators)
        .map(|generator| Share {
            first_worker: first(generator),
            workers: first(generator + 1) - first(generator),
        })
        .collect()
}
