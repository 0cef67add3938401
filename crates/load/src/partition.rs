//! Divides a job among workers: connections and requests, spread evenly.

use std::net::SocketAddr;

use crate::{Job, Model, What, recorder::Due};

/// One worker's part of a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partition {
    pub(crate) worker: usize,
    pub(crate) workers: usize,
    /// The target of each of its connections.
    pub(crate) targets: Vec<SocketAddr>,
    pub(crate) pipelining: usize,
    pub(crate) max_requests: u64,
    pub(crate) due: Due,
    /// Steps of the scenario; 0 without one.
    pub(crate) steps: usize,
}

pub(crate) fn due_of(job: &Job) -> Due {
    match (&job.model, &job.what) {
        (Model::Closed { .. }, What::Requests { .. }) => Due::AtSending,
        (Model::Open { .. }, _) => Due::BySchedule,
        // A step of a session is due when the step before it and its pause have ended.
        (Model::Users { .. }, _) | (Model::Closed { .. }, What::Scenario(_)) => Due::AfterPause,
    }
}

/// Divides a job. A worker without a connection would be of no use, so there are never more workers than connections.
///
/// Connection `i` goes to worker `i % workers`, and the targets get equal numbers of connections, give or take one.
pub(crate) fn partitions(job: &Job) -> Vec<Partition> {
    let (connections, pipelining) = (job.model.connections(), job.model.pipelining());
    let workers = job.sending_workers();
    let part = |worker: usize, whole: u64| {
        let (worker, workers) = (worker as u64, workers as u64);
        whole / workers + u64::from(worker < whole % workers)
    };
    (0..workers)
        .map(|worker| Partition {
            worker,
            workers,
            targets: (worker..connections)
                .step_by(workers)
                .map(|connection| job.targets[connection % job.targets.len()].address)
                .collect(),
            pipelining,
            max_requests: job
                .max_requests
                .map_or(u64::MAX, |whole| part(worker, whole)),
            due: due_of(job),
            steps: match &job.what {
                What::Requests { .. } => 0,
                What::Scenario(scenario) => scenario.steps.len(),
            },
        })
        .collect()
}
