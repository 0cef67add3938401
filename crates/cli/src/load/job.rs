//! Flags and a reached target → a job of the engine, with the settings as they will be told. Starts nothing.

use std::{
    io::Read,
    net::SocketAddr,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, bail};
use waggle_load::{
    self as load, Arrivals, Job, Limits, Prepared, Rate, Stage, Think, Transport, UserStage, What,
};
use waggle_runner::{RecordFiles, cpus, message::plain};
use waggle_study::{Body, BodyExpect, Expect, RecordsBody, RecordsFormat, Request, units};

use super::{
    arguments::{self, Load},
    parse::{ArrivalsName, Expectation, StageText, ThinkText},
    summary::{ModelName, Settings, StageSettings},
    target::{Target, basic},
};

/// The name of the request in a log of histograms.
const REQUEST_NAME: &str = "request";
const CONNECTIONS: u32 = 50;
const DURATION: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(10);
const THINK: Duration = Duration::from_secs(1);
/// A count of requests without a time has this one.
const AT_MOST: Duration = super::parse::DURATION_MAX;
/// Intervals of the engine are about so long: fine enough to tell steadiness within a few seconds.
const INTERVAL: Duration = Duration::from_millis(250);
/// Longest body that is read from a file.
const BODY_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Drawn seeds are kept short, so that they can be typed again.
const SEED_MODULUS: u128 = 1_000_000_007;

/// Everything that is decided before the load starts.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) job: Job,
    pub(crate) settings: Settings,
    pub(crate) records_per_request: u32,
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
    let request = request(flags, target)?;
    let expect = expect(flags, &request)?;
    let (requests, body) = prepared(flags, &request, target)?;
    let measure = measure(flags, &mut defaults);
    let interval = interval(flags, measure);
    let warm_up = whole_intervals(flags.until.warm_up.unwrap_or_default(), interval);
    let workers = workers(flags)?;
    let seed = flags.model.seed.unwrap_or_else(drawn_seed);
    let settings = Settings {
        address: address.to_string(),
        method: request.method.clone(),
        body_bytes: body,
        duration_s: measure.map(|time| time.as_secs_f64()),
        requests_at_most: flags.until.requests,
        warm_up_s: warm_up.as_secs_f64(),
        timeout_s: request.timeout.as_secs_f64(),
        expect_status: expect.status.clone(),
        workers: u32::try_from(workers.len()).unwrap_or(u32::MAX),
        pinned_cpus: workers.iter().flatten().copied().collect(),
        records_per_request: requests[0].records,
        interval_s: interval.as_secs_f64(),
        defaults,
        ..model_settings
    };
    Ok(Planned {
        records_per_request: requests[0].records,
        warm_up,
        measure,
        row: flags.output.interval.unwrap_or(Duration::from_secs(1)),
        settings,
        job: Job {
            name: REQUEST_NAME.to_owned(),
            targets: vec![load::Target { address }],
            transport: Transport::default(),
            model,
            what: What::Requests { requests, expect },
            limits: Limits {
                finish: request.timeout.max(Limits::default().finish),
                request_timeout: request.timeout,
                ..Limits::default()
            },
            workers,
            interval,
            at_most: measure.map_or(AT_MOST, |measure| warm_up + measure),
            requests_at_most: flags.until.requests,
            account_at_most: None,
            seed,
        },
    })
}

/// The model, and its part of the settings.
fn model(flags: &arguments::Model, defaults: &mut Vec<String>) -> Result<(load::Model, Settings)> {
    let is_open = flags.rate.is_some() || (!flags.stages.is_empty() && flags.users.is_none());
    if flags.arrivals.is_some() && !is_open {
        bail!(
            "--arrivals says when requests of an open load fall due; it needs --rate or --stages"
        );
    }
    let (model, mut settings) = match flags.users {
        Some(users) => of_users(flags, users, defaults)?,
        None => of_connections(flags, defaults),
    };
    settings.stages = flags.stages.iter().map(stage_settings).collect();
    Ok((model, settings))
}

fn stage_settings(stage: &StageText) -> StageSettings {
    StageSettings {
        over_s: stage.over.as_secs_f64(),
        to: stage.to,
    }
}

fn of_users(
    flags: &arguments::Model,
    users: u32,
    defaults: &mut Vec<String>,
) -> Result<(load::Model, Settings)> {
    let think = match &flags.think {
        Some(think) => think.clone(),
        None => {
            defaults.push("users think for 1 s on average, exponentially".to_owned());
            ThinkText {
                think: Think::Exponential(THINK),
                text: "exp:1s".to_owned(),
            }
        }
    };
    let mut stages = Vec::new();
    for stage in &flags.stages {
        if stage.to.fract() != 0.0 || stage.to > f64::from(users) {
            bail!(
                "--stages: {} is no number of users up to the {users} of --users",
                stage.to
            );
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and at most a u32"
        )]
        let to = stage.to as usize;
        stages.push(UserStage {
            to,
            over: stage.over,
        });
    }
    let settings = Settings {
        model: ModelName::Users,
        users: Some(users),
        think: Some(think.text),
        ..Settings::default()
    };
    let model = load::Model::Users {
        users: users as usize,
        think: think.think,
        stages,
    };
    Ok((model, settings))
}

fn of_connections(flags: &arguments::Model, defaults: &mut Vec<String>) -> (load::Model, Settings) {
    let stages = || {
        flags.stages.iter().map(|stage| Stage {
            to_per_s: stage.to,
            over: stage.over,
        })
    };
    let rate = match flags.rate {
        Some(per_s) => Some(Rate::Constant(per_s)),
        None if flags.stages.is_empty() => None,
        None => Some(Rate::Stages(stages().collect())),
    };
    let connections = flags.connections.unwrap_or(CONNECTIONS);
    let pipelining = flags.pipelining.unwrap_or(1);
    let settings = |name| Settings {
        model: name,
        connections: Some(connections),
        pipelining: Some(pipelining),
        ..Settings::default()
    };
    if flags.connections.is_none() {
        let model = if rate.is_some() { "" } else { "closed load, " };
        defaults.push(format!("{model}{CONNECTIONS} connections"));
    }
    let (connections, pipelining) = (connections as usize, pipelining as usize);
    let Some(rate) = rate else {
        let model = load::Model::Closed {
            connections,
            pipelining,
        };
        return (model, settings(ModelName::Closed));
    };
    let arrivals = match flags.arrivals {
        Some(ArrivalsName::Uniform) => Arrivals::Uniform,
        Some(ArrivalsName::Poisson) => Arrivals::Poisson,
        None => {
            defaults.push("Poisson arrivals".to_owned());
            Arrivals::Poisson
        }
    };
    let settings = Settings {
        rate_per_s: flags.rate,
        arrivals: Some(
            match arrivals {
                Arrivals::Poisson => "poisson",
                Arrivals::Uniform => "uniform",
            }
            .to_owned(),
        ),
        ..settings(ModelName::Open)
    };
    let model = load::Model::Open {
        rate,
        arrivals,
        connections,
        pipelining,
    };
    (model, settings)
}

/// The request as a study would have it; its body comes apart from it, for it need not be text.
fn request(flags: &Load, target: &Target) -> Result<Request> {
    let given = &flags.request;
    let records = records(&flags.records)?;
    let method = given.method.clone().unwrap_or_else(|| {
        let verb = match (&records, has_body(given)) {
            (Some(_), _) => "PUT",
            (None, true) => "POST",
            (None, false) => "GET",
        };
        verb.to_owned()
    });
    let mut headers = given.headers.clone();
    let has = |headers: &[(String, String)], wanted: &str| {
        headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let mut add = |name: &str, value: String| {
        if !has(&headers, name) {
            headers.push((name.to_owned(), value));
        }
    };
    if let Some(user) = given.user.as_ref().or(target.user.as_ref()) {
        add("Authorization", basic(user));
    }
    if let Some(content_type) = &given.content_type {
        add("Content-Type", content_type.clone());
    } else if given.data.is_some() || given.data_binary.is_some() {
        add(
            "Content-Type",
            "application/x-www-form-urlencoded".to_owned(),
        );
    }
    if given.disable_keepalive {
        if flags.model.pipelining.is_some_and(|requests| requests > 1) {
            bail!(
                "--disable-keepalive and --pipelining do not go together: a connection that ends after one answer has no second request under way"
            );
        }
        add("Connection", "close".to_owned());
    }
    Ok(Request {
        name: REQUEST_NAME.to_owned(),
        method,
        path: target.path.clone(),
        headers,
        body: records.map_or(Body::None, Body::Records),
        expect: Expect {
            status: Vec::new(),
            body: BodyExpect::Any,
        },
        timeout: given.timeout.unwrap_or(TIMEOUT),
    })
}

fn has_body(given: &arguments::Request) -> bool {
    given.body.is_some()
        || given.body_file.is_some()
        || given.data.is_some()
        || given.data_binary.is_some()
}

fn records(given: &arguments::Records) -> Result<Option<RecordsBody>> {
    let Some(from) = given.records.clone() else {
        return Ok(None);
    };
    let format = match given.records_format {
        Some(format) => format.into(),
        None => match Path::new(&from)
            .extension()
            .and_then(|ending| ending.to_str())
        {
            Some("lp" | "line" | "influx") => RecordsFormat::LineProtocol,
            Some("ndjson" | "jsonl") => RecordsFormat::Ndjson,
            Some("json") => RecordsFormat::Json,
            Some("csv") => RecordsFormat::Csv,
            _ => bail!("the ending of {from:?} does not say its format; write --records-format"),
        },
    };
    if format == RecordsFormat::Csv && given.records_measurement.is_none() {
        bail!("CSV does not name the measurement; write --records-measurement");
    }
    if format == RecordsFormat::Csv && given.records_time.is_none() {
        bail!("CSV does not say which column is the time; write --records-time");
    }
    let send_as = given
        .records_as
        .map_or(RecordsFormat::LineProtocol, RecordsFormat::from);
    if send_as == RecordsFormat::Csv {
        bail!("records are not sent as csv; --records-as is line-protocol, ndjson or json");
    }
    Ok(Some(RecordsBody {
        from,
        format,
        send_as,
        per_request: given.records_per_request.unwrap_or(1),
        measurement: given.records_measurement.clone(),
        time: given.records_time.clone(),
        tags: given.records_tags.clone(),
    }))
}

/// The bytes of the requests, and how long the body of one is.
fn prepared(flags: &Load, request: &Request, target: &Target) -> Result<(Vec<Prepared>, u64)> {
    if let Body::Records(_) = request.body {
        let run = format!("l{:x}", unix_ns());
        let requests = RecordFiles::of(request)?.prepare(request, &run, &target.authority)?;
        let bytes = requests.first().map_or(0, body_bytes);
        return Ok((requests, bytes));
    }
    let body = body(&flags.request)?;
    let prepared = plain(request, &target.authority, &body);
    Ok((vec![prepared], body.len() as u64))
}

fn body_bytes(request: &Prepared) -> u64 {
    let head = request
        .bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n");
    head.map_or(0, |head| (request.bytes.len() - head - 4) as u64)
}

fn body(given: &arguments::Request) -> Result<Vec<u8>> {
    if let Some(file) = &given.body_file {
        return file_bytes(file);
    }
    let text = [&given.body, &given.data, &given.data_binary]
        .into_iter()
        .flatten()
        .next();
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let mut bytes = match text.strip_prefix('@') {
        Some("-") => bounded(std::io::stdin().lock(), "the standard input")?,
        Some(file) => file_bytes(Path::new(file))?,
        None => return Ok(text.clone().into_bytes()),
    };
    if given.data.is_some() {
        // As curl does it.
        bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    }
    Ok(bytes)
}

fn file_bytes(file: &Path) -> Result<Vec<u8>> {
    let name = file.display().to_string();
    let opened =
        std::fs::File::open(file).with_context(|| format!("cannot read the body in {name}"))?;
    bounded(opened, &name)
}

fn bounded(from: impl Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(BODY_MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read the body in {name}"))?;
    if bytes.len() as u64 > BODY_MAX_BYTES {
        bail!("the body in {name} is longer than {BODY_MAX_BYTES} bytes");
    }
    Ok(bytes)
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

fn measure(flags: &Load, defaults: &mut Vec<String>) -> Option<Duration> {
    if !flags.model.stages.is_empty() {
        return Some(flags.model.stages.iter().map(|stage| stage.over).sum());
    }
    match (flags.until.duration, flags.until.requests) {
        (None, None) => {
            defaults.push(units::show(DURATION));
            Some(DURATION)
        }
        (duration, _) => duration,
    }
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

fn drawn_seed() -> u64 {
    u64::try_from(unix_ns() % SEED_MODULUS).unwrap_or_default()
}
