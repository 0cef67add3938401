//! The capacity of the engine on this machine for a job's own requests, measured against a server that does next to nothing.
//!
//! The result is an upper bound: real answers are longer than those of the null server and arrive less densely. A trial that
//! comes near it is limited by the engine and not by the system (docs/design/0014-calibration.md).

use std::{
    collections::BTreeSet,
    io,
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::Duration,
};

use rustix::thread::{CpuSet, sched_setaffinity};
use waggle_spec::{LoadModel, Protocol};

use super::null_server::NullServer;
use crate::{
    control::validate::StartError,
    engine::{Running, start},
    job::{Job, Target, What},
    recording::outcome::Interval,
    requests::expect::{BodyCheck, Expect},
};

/// The shortest possible answer; valid for HEAD, too, because it has no body.
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const INTERVAL: Duration = Duration::from_millis(100);
/// Left out: connections are being opened, and caches are cold.
const WARM_UP_INTERVALS: u64 = 3;
/// The cheapest of this many stretches counts, because other load on the machine can only add cost.
const STRETCHES: u64 = 3;
const STRETCH_INTERVALS: u64 = 3;
/// The load ends after this in any case.
const MAX_DURATION: Duration = Duration::from_secs(5);
/// Timeout of the wait for the next interval.
const WAIT: Duration = Duration::from_secs(10);

/// The capacity of the engine for one shape of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// CPU time of the workers per request if they are never idle.
    pub cpu_us_per_request: f64,
    /// Requests per second of all workers together at full utilization of their CPUs.
    pub requests_per_s: f64,
}

/// Why a job was not calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error("the null server supports neither TLS nor HTTP/2 nor scenarios")]
    OtherProtocol,
    #[error("starting the null server: {0}")]
    Server(io::Error),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the null server answered none of the requests")]
    NoAnswer,
}

/// Drives the null server, which runs on `server_cpus` (empty: anywhere), with the job's requests, connections and workers for
/// about a second.
///
/// The load is closed whatever the job's model is, because that is the most the engine can do with this many connections.
///
/// # Errors
/// If the job cannot be calibrated, or this machine does not allow it.
pub fn calibrate(job: &Job, server_cpus: &[usize]) -> Result<Capacity, CalibrationError> {
    let What::Requests { requests, .. } = &job.what else {
        return Err(CalibrationError::OtherProtocol);
    };
    if job.transport.protocol != Protocol::Http1 || job.transport.tls.is_some() {
        return Err(CalibrationError::OtherProtocol);
    }
    let server = server_on(server_cpus)?;
    let (connections, pipelining) = (job.model.connections(), job.model.pipelining());
    let running = start(Job {
        targets: vec![Target {
            address: server.address(),
        }],
        model: LoadModel::Closed {
            connections,
            pipelining,
        },
        stages: Vec::new(),
        what: What::Requests {
            requests: requests.clone(),
            expect: Expect {
                status: Vec::new(),
                body: BodyCheck::Any,
            },
            // Its answers have no body.
            inspect: None,
        },
        interval: INTERVAL,
        max_duration: MAX_DURATION,
        max_requests: None,
        max_tracked_requests: None,
        ..job.clone()
    })?;
    let cheapest = cheapest(&running);
    running.stop();
    drop(running.join());
    let cpu_us_per_request = cheapest.ok_or(CalibrationError::NoAnswer)?;
    Ok(Capacity {
        cpu_us_per_request,
        requests_per_s: 1e6 / cpu_us_per_request * cpus_of(&job.workers, connections as usize),
    })
}

/// CPU µs per request in the cheapest stretch; `None` if nothing was answered.
fn cheapest(running: &Running) -> Option<f64> {
    let mut intervals = std::iter::from_fn(|| running.next_interval(WAIT));
    let last_of_warm_up = intervals.find(|interval| interval.index + 1 >= WARM_UP_INTERVALS)?;
    let mut cheapest: Option<f64> = None;
    let (mut cpu, mut answered) = (Duration::ZERO, 0);
    let mut stretch_from = last_of_warm_up.index + 1;
    let end = stretch_from + STRETCHES * STRETCH_INTERVALS;
    for Interval { index, counts, .. } in intervals {
        cpu += counts.engine_cpu;
        answered += counts.succeeded;
        if index + 1 - stretch_from >= STRETCH_INTERVALS {
            if answered > 0 {
                let cost = cpu.as_secs_f64() * 1e6 / as_f64(answered);
                cheapest = Some(cheapest.map_or(cost, |least| least.min(cost)));
            }
            (cpu, answered, stretch_from) = (Duration::ZERO, 0, index + 1);
        }
        if index + 1 >= end {
            break;
        }
    }
    cheapest.filter(|cost| *cost > 0.0)
}

/// A thread inherits the CPUs of its parent, so the server is started from a thread that is pinned to its CPUs.
fn server_on(cpus: &[usize]) -> Result<NullServer, CalibrationError> {
    let cpus = cpus.to_vec();
    let started = thread::spawn(move || start_pinned(&cpus))
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    started.map_err(CalibrationError::Server)
}

/// Pins this thread, and starts the server from it.
fn start_pinned(cpus: &[usize]) -> io::Result<NullServer> {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    if set.count() > 0 {
        sched_setaffinity(None, &set)?;
    }
    NullServer::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), ANSWER)
}

/// Number of CPUs that the workers use: two workers that are pinned to one CPU share it.
fn cpus_of(workers: &[Option<usize>], connections: usize) -> f64 {
    let workers = &workers[..workers.len().min(connections)];
    let pinned: BTreeSet<usize> = workers.iter().copied().flatten().collect();
    let free = workers.iter().filter(|cpu| cpu.is_none()).count();
    let of_machine = thread::available_parallelism().map_or(1, usize::from);
    as_f64((pinned.len() + free).min(of_machine.max(pinned.len())) as u64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "requests of a second are far below 2^52"
)]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_on_one_cpu_share_it() {
        let check = |workers: &[Option<usize>], connections, expected: f64| {
            let cpus = cpus_of(workers, connections);
            assert!((cpus - expected).abs() < 1e-9, "{workers:?} {cpus}");
        };
        check(&[Some(0)], 10, 1.0);
        check(&[Some(0), Some(0)], 10, 1.0);
        check(&[Some(0), Some(1)], 10, 2.0);
        check(&[Some(0), Some(1)], 1, 1.0);
        check(&[None], 10, 1.0);
    }
}
