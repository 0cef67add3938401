//! Whether a job can be run at all, before anything is started.

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use crate::{
    Arrivals, Job, KEY_DIGITS, Model, Protocol, Stamp, TIME_DIGITS, Think, share::connections_of,
};

/// Keys have room for so many workers.
const WORKERS_MAX: usize = 900;
/// Files that a worker has open beside its connections, with some to spare.
pub(crate) const FILES_PER_WORKER: usize = 8;
/// Shorter intervals would cost more to hand over than they tell.
const INTERVAL_MIN_MS: u128 = 10;

/// Why a job cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the load has no target address")]
    NoTarget,
    #[error("the load has no request to send")]
    NoRequest,
    #[error("request {request} is empty")]
    EmptyRequest { request: usize },
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
    #[error("the load needs between 1 and {WORKERS_MAX} workers, not {0}")]
    Workers(usize),
    #[error("the load needs at least one connection")]
    NoConnection,
    #[error("pipelining must be at least 1")]
    NoPipelining,
    #[error("the rate must be a number above 0, not {0}")]
    Rate(f64),
    #[error("the longest pause is shorter than the shortest")]
    Think,
    #[error("the load can only go by HTTP/1.1 in the clear yet")]
    Transport,
    #[error("an interval must last at least {INTERVAL_MIN_MS} ms")]
    Interval,
    #[error("the load needs {needed} open files and the limit is {limit}; raise it with ulimit -n")]
    FileLimit { needed: u64, limit: u64 },
    #[error("pinning a worker to cpu {cpu}: {error}")]
    Pin { cpu: usize, error: Errno },
    #[error("setting up a worker: {0}")]
    SetUp(Errno),
    #[error("starting a worker thread: {0}")]
    Thread(std::io::Error),
}

/// Checks everything that can be known from the job alone.
pub(crate) fn check(job: &Job) -> Result<(), StartError> {
    if job.targets.is_empty() {
        return Err(StartError::NoTarget);
    }
    if job.workers.is_empty() || job.workers.len() > WORKERS_MAX {
        return Err(StartError::Workers(job.workers.len()));
    }
    if job.interval.as_millis() < INTERVAL_MIN_MS {
        return Err(StartError::Interval);
    }
    if job.transport.protocol != Protocol::Http1 || job.transport.tls.is_some() {
        return Err(StartError::Transport);
    }
    check_model(&job.model)?;
    check_requests(job)
}

fn check_model(model: &Model) -> Result<(), StartError> {
    match connections_of(model) {
        (0, _) => return Err(StartError::NoConnection),
        (_, 0) => return Err(StartError::NoPipelining),
        _ => {}
    }
    match *model {
        Model::Open {
            rate_per_s,
            arrivals: Arrivals::Poisson | Arrivals::Uniform,
            ..
        } if !(rate_per_s.is_finite() && rate_per_s > 0.0) => Err(StartError::Rate(rate_per_s)),
        Model::Users {
            think: Think::Uniform { from, to },
            ..
        } if from > to => Err(StartError::Think),
        _ => Ok(()),
    }
}

fn check_requests(job: &Job) -> Result<(), StartError> {
    let first = job.requests.first().ok_or(StartError::NoRequest)?;
    for (request, prepared) in job.requests.iter().enumerate() {
        let length = prepared.bytes.len();
        if length == 0 {
            return Err(StartError::EmptyRequest { request });
        }
        for slot in &prepared.slots {
            let digits = match slot.stamp {
                Stamp::Key { .. } => KEY_DIGITS,
                Stamp::Time => TIME_DIGITS,
            };
            if slot.at.checked_add(digits).is_none_or(|end| end > length) {
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
            // Otherwise `request index × records + record` would give two records one key.
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

/// Raises the limit of open files where `more` would not fit under it.
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
