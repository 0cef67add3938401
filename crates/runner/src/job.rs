//! A cell of the study → a job of the load engine. Pure.

use std::{net::SocketAddr, time::Duration};

use waggle_load::{self as load, Job, Limits, Target, Transport, What};
use waggle_study::{self as study, BodyExpect, Cell, LoadModel};

use crate::counts::Carried;

/// Records of one worker that are accounted for; the load ends where they are used up.
pub(crate) const RECORDS_PER_WORKER_MAX: u64 = 400_000_000;
/// What the load may take beyond warm-up and measured phase before it ends by itself.
const SPARE: Duration = Duration::from_secs(30);

/// What a job is made of beside its cell.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) targets: Vec<SocketAddr>,
    pub(crate) tls: Option<load::Tls>,
    pub(crate) what: What,
    pub(crate) workers: Vec<Option<usize>>,
    pub(crate) seed: u64,
}

pub(crate) fn job(cell: &Cell, parts: Parts) -> Job {
    let schedule = &cell.schedule;
    Job {
        name: cell.name().to_owned(),
        targets: parts
            .targets
            .into_iter()
            .map(|address| Target { address })
            .collect(),
        transport: Transport {
            protocol: match cell.protocol {
                study::Protocol::Http1 => load::Protocol::Http1,
                study::Protocol::Http2 => load::Protocol::Http2,
            },
            tls: parts.tls,
        },
        model: model(&cell.load),
        account_at_most: cell
            .measure
            .delivery
            .as_ref()
            .map(|_| requests_accounted(cell)),
        what: parts.what,
        limits: Limits {
            request_timeout: cell.timeout(),
            finish: finish(cell),
            ..Limits::default()
        },
        workers: parts.workers,
        interval: cell.measure.interval,
        at_most: schedule.warm_up_at_most + schedule.measure + SPARE,
        requests_at_most: None,
        seed: parts.seed,
    }
}

/// How long answers under way are awaited: as long as they may take.
pub(crate) fn finish(cell: &Cell) -> Duration {
    cell.timeout().max(Limits::default().finish)
}

/// Which requests of a cell carry records.
pub(crate) fn carried(cell: &Cell) -> Carried {
    match &cell.what {
        study::What::Request(_) => Carried::ByEach(records_per_request(cell)),
        study::What::Scenario(scenario) => Carried::BySteps(scenario.steps_with_record()),
    }
}

/// Records of each request that is in the account.
pub(crate) fn records_per_request(cell: &Cell) -> u32 {
    match &cell.what {
        study::What::Request(_) => cell.records().map_or(0, |records| records.per_request),
        study::What::Scenario(_) => 1,
    }
}

/// What a success is, as the engine takes it.
pub(crate) fn expect(expect: &study::Expect) -> load::Expect {
    load::Expect {
        status: expect.status.clone(),
        body: body_check(&expect.body),
    }
}

/// A pause, as the engine takes it.
pub(crate) fn think(think: study::Think) -> load::Think {
    match think {
        study::Think::Fixed(time) => load::Think::Fixed(time),
        study::Think::Exponential(mean) => load::Think::Exponential(mean),
        study::Think::Uniform { from, to } => load::Think::Uniform { from, to },
    }
}

fn requests_accounted(cell: &Cell) -> u64 {
    RECORDS_PER_WORKER_MAX / u64::from(records_per_request(cell).max(1))
}

fn model(model: &LoadModel) -> load::Model {
    match *model {
        LoadModel::Closed {
            connections,
            pipelining,
        } => load::Model::Closed {
            connections: connections as usize,
            pipelining: pipelining as usize,
        },
        LoadModel::Open {
            rate_per_s,
            arrivals,
            connections,
            pipelining,
        } => load::Model::Open {
            rate: load::Rate::Constant(rate_per_s),
            arrivals: match arrivals {
                study::Arrivals::Poisson => load::Arrivals::Poisson,
                study::Arrivals::Uniform => load::Arrivals::Uniform,
            },
            connections: connections as usize,
            pipelining: pipelining as usize,
        },
        LoadModel::Users { users, think } => load::Model::Users {
            users: users as usize,
            think: self::think(think),
            stages: Vec::new(),
        },
    }
}

fn body_check(expect: &BodyExpect) -> load::BodyCheck {
    match expect {
        BodyExpect::Any => load::BodyCheck::Any,
        BodyExpect::Equals(text) => load::BodyCheck::Equals(text.clone().into_bytes()),
        BodyExpect::Contains(text) => load::BodyCheck::Contains(text.clone().into_bytes()),
    }
}
