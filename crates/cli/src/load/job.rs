//! Flags and a reached target → a job of the engine, with the settings as they will be told. Starts nothing.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use anyhow::{Result, bail};
use waggle_load::{self as load, Job, Limits, Model, Protocol, Rate, What};
use waggle_runner::cpus;
use waggle_stats::LoadModel;
use waggle_study::Request;
use waggle_units::format_duration;

use super::{
    arguments::Load,
    model::model,
    parse::{DURATION_MIN, Expectation},
    request::{prepared, request},
    scenario,
    summary::Settings,
    target::Target,
    transport::transport,
};
use crate::trial::shape::Shape;

/// The name of the request in a log of histograms.
pub(crate) const REQUEST_NAME: &str = "request";
const DURATION: Duration = Duration::from_secs(10);
/// A count of requests without a time has this one.
const AT_MOST: Duration = super::parse::DURATION_MAX;
/// Intervals of the engine are about so long: fine enough to tell steadiness within a few seconds.
const INTERVAL: Duration = Duration::from_millis(250);
/// Drawn seeds are kept short, so that they can be typed again.
const SEED_MODULUS: u128 = 1_000_000_007;

/// Everything that is decided before the load starts.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) job: Job,
    pub(crate) settings: Settings,
    pub(crate) shape: Shape,
    /// What is left out of the numbers.
    pub(crate) warm_up: Duration,
    /// How long is measured; `None`: until the count is reached.
    pub(crate) measure: Option<Duration>,
    /// Length of a row.
    pub(crate) row: Duration,
}

/// Makes the job.
///
/// # Errors
/// Flags that do not go together, a file that cannot be read, records that cannot be sent.
pub(crate) fn planned(flags: &Load, target: &Target, address: SocketAddr) -> Result<Planned> {
    let mut defaults = Vec::new();
    let (model, model_settings) = model(&flags.model, &mut defaults)?;
    let sent = sent(flags, target)?;
    let measure = measure(flags, &mut defaults)?;
    let interval = interval(flags, measure);
    let warm_up = whole_intervals(flags.until.warm_up.unwrap_or_default(), interval);
    let workers = workers(flags)?;
    let transport = transport(&flags.secure, target)?;
    let seed = flags.model.seed.unwrap_or_else(drawn_seed);
    let settings = Settings {
        address: address.to_string(),
        protocol: match transport.protocol {
            Protocol::Http1 => "http/1.1",
            Protocol::Http2 => "h2",
        }
        .to_owned(),
        tls: transport.tls.is_some(),
        method: sent.method,
        scenario: sent.scenario,
        body_bytes: sent.body_bytes,
        duration_s: measure.map(|time| time.as_secs_f64()),
        requests_at_most: flags.until.requests,
        warm_up_s: warm_up.as_secs_f64(),
        timeout_s: sent.timeout.as_secs_f64(),
        expect_status: sent.expect_status,
        workers: u32::try_from(workers.len()).unwrap_or(u32::MAX),
        pinned_cpus: workers.iter().flatten().copied().collect(),
        records_per_request: sent.records_per_request,
        interval_s: interval.as_secs_f64(),
        defaults,
        ..model_settings
    };
    let job = Job {
        name: REQUEST_NAME.to_owned(),
        targets: vec![load::Target { address }],
        transport,
        model,
        what: sent.what,
        limits: Limits {
            finish: sent.timeout.max(Limits::default().finish),
            request_timeout: sent.timeout,
            ..Limits::default()
        },
        workers,
        interval,
        at_most: measure.map_or(AT_MOST, |measure| warm_up + measure),
        requests_at_most: flags.until.requests,
        account_at_most: None,
        seed,
    };
    Ok(Planned {
        shape: shape(&job, sent.records_per_request),
        warm_up,
        measure,
        row: flags.output.interval.unwrap_or(Duration::from_secs(1)),
        settings,
        job,
    })
}

/// What the intervals are judged by.
fn shape(job: &Job, records_per_request: u32) -> Shape {
    let (steps, good_statuses) = Shape::of_what(&job.what);
    let model = match &job.model {
        Model::Closed { .. } => LoadModel::Closed,
        Model::Open { .. } => LoadModel::Open,
        Model::Users { .. } => LoadModel::Users,
    };
    Shape {
        model,
        workers: job.sending_workers(),
        connections: job.model.connections() as u64,
        offered_per_s: match &job.model {
            // A schedule asks for sessions, of whose requests only the first falls due by it.
            Model::Open { .. } if !steps.is_empty() => None,
            // A load that ends by its count waits for the last answers while nothing falls due.
            Model::Open {
                rate: Rate::Constant(per_s),
                ..
            } if job.requests_at_most.is_none() => Some(*per_s),
            _ => None,
        },
        has_stages: match &job.model {
            Model::Closed { .. } => false,
            Model::Open { rate, .. } => matches!(rate, Rate::Stages(_)),
            Model::Users { stages, .. } => !stages.is_empty(),
        },
        requests_at_most: job.requests_at_most,
        interval: job.interval,
        records_per_request,
        steps,
        good_statuses,
        certificate_hint: "; so the load was ended early (--cacert FILE names the authority of the server's certificate, -k takes any)",
    }
}

/// What is sent, with its part of the settings.
struct Sent {
    what: What,
    method: Option<String>,
    scenario: Option<String>,
    body_bytes: u64,
    records_per_request: u32,
    expect_status: Vec<u16>,
    timeout: Duration,
}

fn sent(flags: &Load, target: &Target) -> Result<Sent> {
    if let Some(file) = &flags.request.scenario {
        let read = scenario::scenario(flags, target, file)?;
        return Ok(Sent {
            what: scenario::what(&read, target, &mark()),
            method: None,
            body_bytes: 0,
            records_per_request: 0,
            expect_status: Vec::new(),
            timeout: read.timeout(),
            scenario: Some(read.name),
        });
    }
    let request = request(flags, target)?;
    let expect = expect(flags, &request)?;
    let (requests, body_bytes) = prepared(flags, &request, target)?;
    Ok(Sent {
        body_bytes,
        records_per_request: requests[0].records,
        expect_status: expect.status.clone(),
        timeout: request.timeout,
        method: Some(request.method),
        scenario: None,
        what: What::Requests { requests, expect },
    })
}

fn expect(flags: &Load, request: &Request) -> Result<load::Expect> {
    let mut expect = load::Expect {
        status: Vec::new(),
        body: load::BodyCheck::Any,
    };
    for expectation in &flags.judged.expect {
        let body = match expectation {
            Expectation::Status(codes) => {
                expect.status.extend(codes);
                continue;
            }
            Expectation::Body(text) => load::BodyCheck::Equals(text.clone().into_bytes()),
            Expectation::Contains(text) => load::BodyCheck::Contains(text.clone().into_bytes()),
        };
        if request.method == "HEAD" {
            bail!("--expect: an answer to HEAD has no body");
        }
        if expect.body != load::BodyCheck::Any {
            bail!("--expect: a body can be held against one text only");
        }
        expect.body = body;
    }
    expect.status.sort_unstable();
    expect.status.dedup();
    Ok(expect)
}

fn measure(flags: &Load, defaults: &mut Vec<String>) -> Result<Option<Duration>> {
    if flags.until.requests.is_some() && flags.until.warm_up.is_some_and(|time| !time.is_zero()) {
        bail!(
            "-n counts requests from the start on, those of --warm-up too: with a warm-up, say how long is measured with --duration"
        );
    }
    if !flags.model.stages.is_empty() {
        let stages: Duration = flags.model.stages.iter().map(|stage| stage.over).sum();
        if stages < DURATION_MIN {
            bail!(
                "--stages: all of them together take {}; a load shorter than {} cannot be measured",
                format_duration(stages),
                format_duration(DURATION_MIN)
            );
        }
        return Ok(Some(stages));
    }
    Ok(match (flags.until.duration, flags.until.requests) {
        (None, None) => {
            defaults.push(format_duration(DURATION));
            Some(DURATION)
        }
        (duration, _) => duration,
    })
}

/// The engine's interval: a whole part of the measured time and of a row, near [`INTERVAL`], so that the measured time
/// ends with an interval.
fn interval(flags: &Load, measure: Option<Duration>) -> Duration {
    let row = flags.output.interval.unwrap_or(Duration::from_secs(1));
    let wanted = INTERVAL.min(row);
    let Some(measure) = measure else {
        return wanted;
    };
    let parts = measure.as_nanos().div_ceil(wanted.as_nanos()).max(1);
    measure / u32::try_from(parts).unwrap_or(u32::MAX)
}

/// A time, longer by what is missing to a whole interval.
fn whole_intervals(time: Duration, interval: Duration) -> Duration {
    let intervals = time.as_nanos().div_ceil(interval.as_nanos().max(1));
    interval * u32::try_from(intervals).unwrap_or(u32::MAX)
}

/// One entry a thread; the CPU it stays on, where that was asked for.
fn workers(flags: &Load) -> Result<Vec<Option<usize>>> {
    let allowed = cpus::allowed();
    let half = (allowed.len() / 2).max(1);
    let count = flags.way.workers.map_or(half, |workers| workers as usize);
    let Some(choice) = &flags.way.pin else {
        return Ok(vec![None; count]);
    };
    let cpus = match choice.0.as_slice() {
        [] => &allowed[..half.min(allowed.len())],
        chosen => chosen,
    };
    if let Some(other) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        bail!("--pin: this process may not use CPU {other}");
    }
    Ok((0..count)
        .map(|worker| cpus.get(worker % cpus.len().max(1)).copied())
        .collect())
}

fn unix_ns() -> u128 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}

/// What marks the records of this load.
pub(crate) fn mark() -> String {
    format!("l{:x}", unix_ns())
}

fn drawn_seed() -> u64 {
    u64::try_from(unix_ns() % SEED_MODULUS).unwrap_or_default()
}
