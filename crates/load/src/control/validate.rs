//! Validation of a job before anything is started.

use std::net::IpAddr;

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use waggle_spec::{
    FeedOrder, LoadModel, LoadStage, Protocol, TUNNEL_METHOD, TUNNEL_OBJECTION, Think,
};

use crate::{
    job::{Job, Target, What},
    machine::source_address,
    requests::{
        head_block::{self, RequestError},
        prepared::{Prepared, Stamp},
    },
    scenario::model::Scenario,
    sessions::compile::ScenarioError,
    transport::settings::Transport,
};

/// Keys of records have digits for this many workers.
const WORKERS_MAX: usize = 900;
/// Of all generators together, in a load without records.
const WORKERS_WITHOUT_RECORDS_MAX: usize = 10_000;
/// A higher rate is a mistake: a worker would spend its time on the due instants alone.
const RATE_MAX_PER_S: f64 = 1e7;
/// Shorter intervals would cost more to hand over than they are worth.
const INTERVAL_MIN_MS: u128 = 10;

/// Why a job cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the load has no target address")]
    NoTarget,
    #[error("connections cannot come from {address}: {error}")]
    SourceAddress { address: IpAddr, error: Errno },
    #[error("connections from {0} cannot go to an address of the other version of IP")]
    SourceFamily(IpAddr),
    #[error("the load has no request to send")]
    NoRequest,
    #[error("request {request} is empty")]
    EmptyRequest { request: usize },
    #[error("request {request}: {TUNNEL_OBJECTION}")]
    Tunnel { request: usize },
    #[error("slot at byte {at} of request {request} does not fit into its {length} bytes")]
    SlotOutside {
        request: usize,
        at: usize,
        length: usize,
    },
    #[error("record {record} of request {request} is beyond the {records} records it carries")]
    RecordOutside {
        request: usize,
        record: u32,
        records: u32,
    },
    #[error(
        "requests carry {first} and {other} records; with key stamps all must carry the same number"
    )]
    UnequalRecords { first: u32, other: u32 },
    #[error("the load needs between 1 and {most} workers, not {workers}")]
    Workers { workers: usize, most: usize },
    #[error("the load needs at least one connection")]
    NoConnection,
    #[error("pipelining must be at least 1")]
    NoPipelining,
    #[error(
        "each of the clients has {connections} connections and {requests} requests; it needs at least as many"
    )]
    FewRequests { connections: u32, requests: u64 },
    #[error("clients send requests over HTTP/1.1, not sessions of a scenario and not HTTP/2")]
    ClientsRequests,
    #[error("the rate must be a number above 0, not {0}")]
    Rate(f64),
    #[error("the rate must be at most {RATE_MAX_PER_S} per second, not {0}")]
    RateTooHigh(f64),
    #[error(
        "the rate at the end of stage {stage} must be a number from 0 to {RATE_MAX_PER_S}, not {to_per_s}"
    )]
    StageRate { stage: usize, to_per_s: f64 },
    #[error("stage {stage} needs {to} users, but there are at most {users}")]
    StageUsers { stage: usize, to: f64, users: u32 },
    #[error("a load of the model {0} has no stages")]
    StagesOfModel(&'static str),
    #[error("the stages of the load have no length")]
    NoLength,
    #[error("the stages of the load have no requests: all of them stay at 0")]
    NothingDue,
    #[error("the longest think time is shorter than the shortest")]
    ThinkTime,
    #[error("scenario: {0}")]
    Scenario(#[from] ScenarioError),
    #[error(
        "sessions of a scenario send one request at a time over HTTP/1.1: pipelining must be 1, not {0}"
    )]
    ScenarioPipelining(u32),
    #[error("feed '{feed}' has {rows} rows, but each of {users} users needs its own row")]
    FewRows {
        feed: String,
        rows: usize,
        users: usize,
    },
    #[error("request {request} cannot be sent over HTTP/2: {error}")]
    NotHttp2 { request: usize, error: RequestError },
    #[error("an interval must last at least {INTERVAL_MIN_MS} ms")]
    Interval,
    #[error("the load needs {needed} open files and the limit is {limit}; raise it with ulimit -n")]
    FileLimit { needed: u64, limit: u64 },
    #[error("pinning a worker to cpu {cpu}: {error}")]
    Pin { cpu: usize, error: Errno },
    #[error("setting up a worker: {0}")]
    SetUp(#[from] Errno),
    #[error("starting a worker thread: {0}")]
    Thread(std::io::Error),
}

/// Checks everything that depends on the job alone.
pub(crate) fn check(job: &Job) -> Result<(), StartError> {
    if job.targets.is_empty() {
        return Err(StartError::NoTarget);
    }
    let (workers, most) = (job.workers.len(), workers_max(&job.what));
    if !(1..=most).contains(&workers) {
        return Err(StartError::Workers { workers, most });
    }
    if job.interval.as_millis() < INTERVAL_MIN_MS {
        return Err(StartError::Interval);
    }
    check_sources(job)?;
    check_model(&job.model, &job.stages)?;
    if job.model.is_clients()
        && (matches!(job.what, What::Scenario(_)) || job.transport.protocol != Protocol::Http1)
    {
        return Err(StartError::ClientsRequests);
    }
    match &job.what {
        What::Requests { requests, .. } => {
            check_requests(requests)?;
            check_protocol(&job.transport, requests)
        }
        What::Scenario(scenario) => check_scenario(job, scenario),
    }
}

fn workers_max(what: &What) -> usize {
    match what {
        What::Requests { requests, .. }
            if requests.iter().all(|request| request.slots.is_empty()) =>
        {
            WORKERS_WITHOUT_RECORDS_MAX
        }
        What::Requests { .. } | What::Scenario(_) => WORKERS_MAX,
    }
}

fn check_sources(job: &Job) -> Result<(), StartError> {
    for &address in &job.transport.source_addresses {
        let is_other = |target: &Target| target.address.is_ipv4() != address.is_ipv4();
        if job.targets.iter().any(is_other) {
            return Err(StartError::SourceFamily(address));
        }
        source_address::check(address)
            .map_err(|error| StartError::SourceAddress { address, error })?;
    }
    Ok(())
}

fn check_model(model: &LoadModel, stages: &[LoadStage]) -> Result<(), StartError> {
    match (model.connections(), model.pipelining()) {
        (0, _) => return Err(StartError::NoConnection),
        (_, 0) => return Err(StartError::NoPipelining),
        _ => {}
    }
    if model.changing_level().is_none() && !stages.is_empty() {
        return Err(StartError::StagesOfModel(model.kind().name()));
    }
    match model {
        LoadModel::Closed { .. } => Ok(()),
        LoadModel::Open { rate_per_s, .. } if stages.is_empty() => check_rate(*rate_per_s),
        LoadModel::Open { .. } => check_stages(stages),
        LoadModel::Users {
            think_time: Think::Uniform { from, to },
            ..
        } if from > to => Err(StartError::ThinkTime),
        LoadModel::Users { users, .. } => check_user_stages(*users, stages),
        &LoadModel::Clients {
            connections,
            requests,
            ..
        } => match requests < u64::from(connections) {
            true => Err(StartError::FewRequests {
                connections,
                requests,
            }),
            false => Ok(()),
        },
    }
}

fn check_rate(per_s: f64) -> Result<(), StartError> {
    match per_s {
        _ if !(per_s.is_finite() && per_s > 0.0) => Err(StartError::Rate(per_s)),
        _ if per_s > RATE_MAX_PER_S => Err(StartError::RateTooHigh(per_s)),
        _ => Ok(()),
    }
}

fn check_stages(stages: &[LoadStage]) -> Result<(), StartError> {
    for (stage, &LoadStage { target, .. }) in stages.iter().enumerate() {
        if !(0.0..=RATE_MAX_PER_S).contains(&target) {
            return Err(StartError::StageRate {
                stage,
                to_per_s: target,
            });
        }
    }
    if stages.iter().all(|stage| stage.duration.is_zero()) {
        return Err(StartError::NoLength);
    }
    let mut from_per_s = 0.0;
    for &LoadStage { target, duration } in stages {
        if f64::max(from_per_s, target) > 0.0 && !duration.is_zero() {
            return Ok(());
        }
        from_per_s = target;
    }
    Err(StartError::NothingDue)
}

fn check_user_stages(users: u32, stages: &[LoadStage]) -> Result<(), StartError> {
    for (stage, &LoadStage { target, .. }) in stages.iter().enumerate() {
        if !(0.0..=f64::from(users)).contains(&target) {
            return Err(StartError::StageUsers {
                stage,
                to: target,
                users,
            });
        }
    }
    if !stages.is_empty() && stages.iter().all(|stage| stage.duration.is_zero()) {
        return Err(StartError::NoLength);
    }
    if !stages.is_empty() && stages.iter().all(|stage| stage.target < 0.5) {
        return Err(StartError::NothingDue);
    }
    Ok(())
}

fn check_scenario(job: &Job, scenario: &Scenario) -> Result<(), StartError> {
    let pipelining = job.model.pipelining();
    let may_have_streams = match job.transport.protocol {
        Protocol::Http1 => false,
        Protocol::Http2 => true,
        Protocol::Auto => job.transport.tls.is_some(),
    };
    if pipelining != 1 && !may_have_streams {
        return Err(StartError::ScenarioPipelining(pipelining));
    }
    let users = job.model.connections() as usize * job.sessions_per_connection();
    let rows_of_users = scenario
        .feeds
        .iter()
        .filter(|feed| feed.order == FeedOrder::PerUser);
    for feed in rows_of_users {
        if feed.rows.len() < users {
            return Err(StartError::FewRows {
                feed: feed.name.clone(),
                rows: feed.rows.len(),
                users,
            });
        }
    }
    Ok(scenario.check()?)
}

/// Checks what replaces the content of a job that was checked.
pub(crate) fn check_content(transport: &Transport, what: &What) -> Result<(), StartError> {
    match what {
        What::Requests { requests, .. } => {
            check_requests(requests)?;
            check_protocol(transport, requests)
        }
        What::Scenario(scenario) => Ok(scenario.check()?),
    }
}

fn check_requests(requests: &[Prepared]) -> Result<(), StartError> {
    let first = requests.first().ok_or(StartError::NoRequest)?;
    for (request, prepared) in requests.iter().enumerate() {
        let length = prepared.bytes.len();
        if length == 0 {
            return Err(StartError::EmptyRequest { request });
        }
        if is_tunnel(&prepared.bytes) {
            return Err(StartError::Tunnel { request });
        }
        for slot in &prepared.slots {
            let length_of_slot = slot.stamp.length();
            if slot
                .at
                .checked_add(length_of_slot)
                .is_none_or(|end| end > length)
            {
                return Err(StartError::SlotOutside {
                    request,
                    at: slot.at,
                    length,
                });
            }
            let Stamp::Key { record } = slot.stamp else {
                continue;
            };
            if record >= prepared.records {
                return Err(StartError::RecordOutside {
                    request,
                    record,
                    records: prepared.records,
                });
            }
            // Otherwise `request index × records + record` would give two records the same key.
            if prepared.records != first.records {
                return Err(StartError::UnequalRecords {
                    first: first.records,
                    other: prepared.records,
                });
            }
        }
    }
    Ok(())
}

/// Whether a request opens a tunnel, which no version of HTTP measures.
fn is_tunnel(request: &[u8]) -> bool {
    let after_method = request.strip_prefix(TUNNEL_METHOD.as_bytes());
    after_method.is_some_and(|rest| rest.starts_with(b" "))
}

/// Checks that requests can be sent over HTTP/2.
fn check_protocol(transport: &Transport, requests: &[Prepared]) -> Result<(), StartError> {
    if transport.protocol == Protocol::Http1 {
        return Ok(());
    }
    for (request, prepared) in requests.iter().enumerate() {
        head_block::check(&prepared.bytes)
            .map_err(|error| StartError::NotHttp2 { request, error })?;
    }
    Ok(())
}

/// Raises the limit of open files if `more` would exceed it.
pub(crate) fn raise_file_limit(more: usize) -> Result<(), StartError> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let needed = (open + more) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match limit.maximum {
        Some(maximum) if maximum < needed => Err(StartError::FileLimit {
            needed,
            limit: maximum,
        }),
        _ => setrlimit(Resource::Nofile, raised).map_err(|_| StartError::FileLimit {
            needed,
            limit: limit.current.unwrap_or(u64::MAX),
        }),
    }
}
