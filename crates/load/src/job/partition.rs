//! Divides a job among workers: connections and requests, spread evenly.

use std::net::{IpAddr, SocketAddr};

use waggle_spec::LoadModel;

use super::{Job, What, share::Share};

/// One worker's part of a job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partition {
    pub(crate) worker: usize,
    pub(crate) workers: usize,
    /// Of each of its connections.
    pub(crate) routes: Vec<Route>,
    pub(crate) pipelining: usize,
    /// Sessions of a scenario on each connection: one for each stream over HTTP/2.
    pub(crate) lanes: usize,
    pub(crate) max_requests: u64,
    pub(crate) due: Due,
    /// Steps of the scenario; 0 without one.
    pub(crate) steps: usize,
}

/// From where to where a connection goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    /// `None`: the kernel chooses.
    pub(crate) source: Option<IpAddr>,
    pub(crate) target: SocketAddr,
}

/// What makes a request due, by the load's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// The sending itself (closed): one histogram serves for response and service time.
    AtSending,
    /// The end of its user's pause.
    AfterPause,
    /// A schedule, which also counts requests that were never sent.
    BySchedule,
}

/// The route of a connection of the job. Over all connections, every source is combined with every target.
fn route(job: &Job, connection: usize) -> Route {
    let (targets, sources) = (&job.targets, &job.transport.source_addresses);
    let source = (connection / targets.len()).checked_rem(sources.len());
    Route {
        source: source.map(|index| sources[index]),
        target: targets[connection % targets.len()].address,
    }
}

pub(crate) fn due_of(job: &Job) -> Due {
    match (&job.model, &job.what) {
        (LoadModel::Closed { .. }, What::Requests { .. }) | (LoadModel::Clients { .. }, _) => {
            Due::AtSending
        }
        (LoadModel::Open { .. }, _) => Due::BySchedule,
        // A step of a session is due when the step before it and its pause have ended.
        (LoadModel::Users { .. }, _) | (LoadModel::Closed { .. }, What::Scenario(_)) => {
            Due::AfterPause
        }
    }
}

/// Divides a job; the partitions of the workers of one share. A worker without a connection would be of no use, so there are never more workers than connections.
///
/// Connection `i` goes to worker `i % workers` (of clients: those of client `i`), and the targets get equal numbers of connections, give or take one.
pub(crate) fn partitions(job: &Job, share: Share) -> Vec<Partition> {
    (share.first_worker..share.end().min(job.sending_workers()))
        .map(|worker| partition(job, worker))
        .collect()
}

fn partition(job: &Job, worker: usize) -> Partition {
    let (groups, size) = job.model.groups();
    let (groups, size) = (groups as usize, size as usize);
    let workers = job.sending_workers();
    let part = |whole: u64| {
        let (worker, workers) = (worker as u64, workers as u64);
        whole / workers + u64::from(worker < whole % workers)
    };
    Partition {
        worker,
        workers,
        routes: (worker..groups)
            .step_by(workers)
            .flat_map(|group| group * size..(group + 1) * size)
            .map(|connection| route(job, connection))
            .collect(),
        pipelining: job.model.pipelining() as usize,
        lanes: job.sessions_per_connection(),
        max_requests: job.max_requests.map_or(u64::MAX, part),
        due: due_of(job),
        steps: match &job.what {
            What::Requests { .. } => 0,
            What::Scenario(scenario) => scenario.steps.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use waggle_spec::LoadModel;

    use super::partitions;
    use crate::{
        job::{
            Job, Limits, Target, What,
            share::{Share, shares},
        },
        requests::prepared::Prepared,
        transport::settings::Transport,
    };

    fn job(
        connections: usize,
        workers: usize,
        max_requests: Option<u64>,
        (sources, targets): (u8, u8),
    ) -> Job {
        let target = |port: u8| Target {
            address: ([127, 0, 0, 1], u16::from(port) + 1).into(),
        };
        let get = Prepared {
            bytes: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            slots: Vec::new(),
            records: 0,
            is_head: false,
        };
        Job {
            name: "get".to_owned(),
            targets: (0..targets).map(target).collect(),
            transport: Transport {
                source_addresses: (0..sources)
                    .map(|last| [127, 0, 0, last + 2].into())
                    .collect(),
                ..Transport::default()
            },
            model: LoadModel::Closed {
                connections: u32::try_from(connections).unwrap(),
                pipelining: 1,
            },
            stages: Vec::new(),
            what: What::Requests {
                requests: vec![get],
                expect: crate::requests::expect::Expect::default(),
                inspect: None,
            },
            limits: Limits::default(),
            workers: vec![None; workers],
            interval: Duration::from_secs(1),
            max_duration: Duration::from_secs(1),
            max_requests,
            max_tracked_requests: None,
            seed: 1,
        }
    }

    #[test]
    fn every_source_meets_every_target() {
        let job = job(12, 1, None, (2, 3));
        let parts = partitions(&job, Share::of_all(&job));
        let mut pairs: Vec<_> = parts[0]
            .routes
            .iter()
            .map(|route| (route.source, route.target))
            .collect();
        pairs.sort();
        pairs.dedup();
        assert_eq!(pairs.len(), 6);
    }

    proptest! {
        #[test]
        fn the_shares_of_a_job_are_the_job(
            connections in 1_usize..50, workers in 1_usize..20, generators in 1_usize..12,
            max_requests in prop::option::of(0_u64..1_000), routes in (0_u8..4, 1_u8..4),
        ) {
            let job = job(connections, workers, max_requests, routes);
            let whole = partitions(&job, Share::of_all(&job));
            let shares = shares(&job, generators);
            prop_assert_eq!(shares.len(), generators.min(job.sending_workers()));
            let parts: Vec<_> = shares.iter().flat_map(|share| partitions(&job, *share)).collect();
            prop_assert_eq!(&parts, &whole);
            let all: usize = parts.iter().map(|part| part.routes.len()).sum();
            prop_assert_eq!(all, connections);
            prop_assert_eq!(shares.iter().map(|share| share.connections(&job)).sum::<usize>(), connections);
            if let Some(most) = max_requests {
                prop_assert_eq!(parts.iter().map(|part| part.max_requests).sum::<u64>(), most);
            }
            let sizes = || shares.iter().map(|share| share.workers);
            prop_assert!(sizes().min() >= Some(1) && sizes().max() <= sizes().min().map(|least| least + 1));
        }
    }
}
