//! Flags and a reached target → a checked study of one cell, with its settings. Starts nothing.
//!
//! The text of the study (`text`) can be saved and run again. The parts that must not be in the text, or that a study cannot
//! express, are set in the checked study here: the request with its secrets, the worker threads.

use std::{
    path::{Component, Path},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use waggle_convert::Target;
use waggle_runner::files_beside;
use waggle_spec::{Protocol, Threshold};
use waggle_study::{
    Body, BodyExpect, Cell, Expect, Named, Pem, Request, Scenario, Source, Study, System,
    TakenValue, What,
};
use waggle_units::format_duration;

use super::{
    model::settings,
    request::request,
    run_folders::{self, NeededFile, RunFolders, SCENARIO},
    scenario,
    text::{self, GeneratedBody, LoadSpec, Payload, SearchSettings, Times, Written},
    transport,
    workers::{check_generators, workers},
};
use crate::{
    arguments::{
        load::Load,
        parse::{DURATION_MIN, Expectation, INTERVAL_MIN},
        target::ReachedServer,
    },
    commands::load::result::summary::Settings,
    process::seed,
    trial::shape::Shape,
};

const DURATION: Duration = Duration::from_secs(10);
/// Limit on the time of a load that ends by a request count.
const AT_MOST: Duration = crate::arguments::parse::DURATION_MAX;
/// Lengths of intervals of the load generator, longer for longer loads: fine enough to check steadiness within a few seconds.
const INTERVALS: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
/// A load with more intervals gets longer ones.
const INTERVALS_WANTED_MAX: u32 = 10_000;
/// Name of the generated study in messages.
const STUDY_NAME: &str = "the study of this load";

/// A load before its start.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Has one cell.
    pub(crate) study: Study,
    pub(crate) system: System,
    pub(crate) text: String,
    pub(crate) settings: Settings,
    pub(crate) shape: Shape,
    /// Length of the warm-up.
    pub(crate) warm_up: Duration,
    /// Length of the measured phase; `None`: until the request count is reached.
    pub(crate) measure: Option<Duration>,
    /// Length of a row of the time series.
    pub(crate) row: Duration,
    pub(crate) seed: u64,
    /// The CPUs of the worker threads; empty: not pinned.
    pub(crate) pinned: Vec<usize>,
    /// Files to copy to the run folder if the run is saved.
    pub(crate) needed: Vec<NeededFile>,
    /// Whether the saved body may contain secrets, because it is not text.
    pub(crate) keeps_bytes: bool,
}

/// The context of the flags: the target, the conditions and the folders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanInputs<'a> {
    pub(crate) target: &'a Target,
    pub(crate) reached: &'a ReachedServer,
    pub(crate) thresholds: &'a [Threshold],
    pub(crate) search: Option<&'a SearchSettings>,
    /// The folders of the run.
    pub(crate) folders: &'a RunFolders,
}

/// Creates the study.
///
/// # Errors
/// Conflicting flags, a file that cannot be read, records that cannot be sent.
pub(crate) fn make_plan(flags: &Load, inputs: PlanInputs<'_>) -> Result<Planned> {
    let target = inputs.target;
    let mut defaults = Vec::new();
    let model_settings = settings(&flags.model, flags.until.requests, &mut defaults)?;
    let sent = request_content(flags, target, inputs.folders)?;
    let measure = measure(flags, &mut defaults)?;
    let times = times(flags, measure);
    let workers = workers(flags)?;
    check_generators(flags, &model_settings)?;
    transport::fits(&flags.secure, target)?;
    let seed = flags.model.seed.unwrap_or_else(seed::draw);
    let settings = Settings {
        address: inputs.reached.address.to_string(),
        workers: workers.count,
        pinned_cpus: workers.pinned_each(),
        defaults,
        ..timed_settings(flags, target, times, sent.settings(model_settings))
    };
    let generated_body = sent.generated_body(inputs.folders)?;
    let spec = LoadSpec {
        flags,
        target,
        settings: &settings,
        sent: sent.payload(),
        times,
        seed,
        thresholds: inputs.thresholds,
        search: inputs.search,
        folders: inputs.folders,
        generated_body: generated_body.as_deref(),
    };
    let keeps_bytes = spec.keeps_bytes();
    let Written {
        text,
        generated_body: kept_body,
    } = text::write_study(&spec);
    let needed = match kept_body {
        GeneratedBody::AsSent => sent.needed_files(flags, inputs.folders)?,
        GeneratedBody::Text(text) => vec![inputs.folders.make_kept_body(&text)?],
        GeneratedBody::LeftOut => Vec::new(),
    };
    let (mut study, mut system) = read_made_study(&text, flags.request.scenario.as_deref())?;
    study.seed = seed;
    if let Sent::Scenario(_, taken) = &sent {
        study.taken.clone_from(taken);
    }
    for cell in &mut study.cells {
        cell.load_workers = Some(workers.count);
        cell.schedule.warm_up = times.warm_up;
        // Who starts a load by hand wants it now; its verdict names other programs.
        cell.schedule.quiet_timeout = Duration::ZERO;
        cell.schedule.measure = measure.unwrap_or(AT_MOST);
        sent.put(cell)?;
    }
    put_tls_files(&mut system, flags);
    Ok(Planned {
        shape: Shape {
            tls_hint: transport::hint(&flags.secure),
            ..Shape::from_cell(&study.cells[0], workers.count as usize)
        },
        study,
        system,
        text,
        warm_up: times.warm_up,
        measure,
        row: flags.output.interval.unwrap_or(Duration::from_secs(1)),
        settings,
        seed,
        pinned: workers.pinned,
        needed,
        keeps_bytes,
    })
}

/// The warm-up is rounded up to whole intervals.
fn times(flags: &Load, measure: Option<Duration>) -> Times {
    let interval = interval(flags, measure);
    Times {
        interval,
        warm_up: whole_intervals(flags.until.warm_up.unwrap_or_default(), interval),
        measure,
    }
}

/// Adds protocol and times to the settings.
fn timed_settings(flags: &Load, target: &Target, times: Times, settings: Settings) -> Settings {
    Settings {
        protocol: match flags.secure.protocol() {
            Protocol::Http1 => "http/1.1",
            Protocol::Http2 => "h2",
            Protocol::Auto => "auto",
        }
        .to_owned(),
        tls: target.is_secure,
        duration_s: times.measure.map(|time| time.as_secs_f64()),
        max_requests: flags.until.requests,
        warm_up_s: times.warm_up.as_secs_f64(),
        interval_s: times.interval.as_secs_f64(),
        ..settings
    }
}

/// Reads and checks the generated text. Feeds are in the folder of the scenario.
fn read_made_study(text: &str, scenario: Option<&Path>) -> Result<(Study, System)> {
    let source = Source {
        name: STUDY_NAME.to_owned(),
        text: text.to_owned(),
    };
    let Named::Server(system) = waggle_study::system_of(&source)? else {
        unreachable!("the text names the URL of a server");
    };
    let scenario = scenario.unwrap_or(Path::new(""));
    let path_of = files_beside(scenario);
    // In the text the scenario has a fixed file name.
    let files = |name: &str| match (name, scenario.file_name().and_then(|file| file.to_str())) {
        (SCENARIO, Some(file)) => path_of(file),
        _ => path_of(name),
    };
    let study = waggle_study::read_study_and_files(&source, &system, &files)?;
    Ok((study, *system))
}

/// Messages name TLS files as in the flags.
fn put_tls_files(system: &mut System, flags: &Load) {
    let Some(server) = &mut system.external else {
        return;
    };
    let name = |file: &Path| Pem::File(file.display().to_string());
    let secure = &flags.secure;
    server.tls.ca = secure.cacert.as_deref().map(name);
    server.tls.client = secure.cert.as_deref().map(|cert| {
        let key = secure.key.as_deref().unwrap_or(cert);
        (name(cert), name(key))
    });
}

/// The request with the length of its body, or the scenario.
enum Sent {
    Request {
        request: Box<Request>,
        body_bytes: u64,
        records: u32,
    },
    /// With the values of its headers from outside.
    Scenario(Box<Scenario>, Vec<TakenValue>),
}

fn request_content(flags: &Load, target: &Target, folders: &RunFolders) -> Result<Sent> {
    if let Some(file) = &flags.request.scenario {
        let (scenario, taken) = scenario::scenario(flags, target, file)?;
        return Ok(Sent::Scenario(Box::new(scenario), taken));
    }
    let request = request(flags, target, folders)?;
    let request = Request {
        expect: expect(flags, &request)?,
        ..request
    };
    let (body_bytes, records) = super::request::sizes(&request, target)?;
    Ok(Sent::Request {
        request: Box::new(request),
        body_bytes,
        records,
    })
}

impl Sent {
    /// Adds its part to the settings.
    fn settings(&self, settings: Settings) -> Settings {
        match self {
            Self::Request {
                request,
                body_bytes,
                records,
            } => Settings {
                method: Some(request.method.clone()),
                body_bytes: *body_bytes,
                records_per_request: *records,
                expect_status: request.expect.status.clone(),
                timeout_s: request.timeout.as_secs_f64(),
                ..settings
            },
            Self::Scenario(scenario, _) => Settings {
                scenario: Some(scenario.name.clone()),
                timeout_s: scenario.timeout().as_secs_f64(),
                ..settings
            },
        }
    }

    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Scenario(scenario, _) => Payload::Scenario(&scenario.name),
            Self::Request { request, .. } => Payload::Request(request),
        }
    }

    /// The bytes of a body that was written for this load, if the run is saved.
    fn generated_body(&self, folders: &RunFolders) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Request { request, .. } => match &request.body {
                Body::File(file)
                    if folders.keeps() && folders.name_of(Path::new(file)).is_some() =>
                {
                    let read = std::fs::read(file);
                    read.map(Some)
                        .with_context(|| format!("cannot read {file}"))
                }
                _ => Ok(None),
            },
            Self::Scenario(..) => Ok(None),
        }
    }

    /// Files to copy to the run folder if the run is saved.
    fn needed_files(&self, flags: &Load, folders: &RunFolders) -> Result<Vec<NeededFile>> {
        let scenario = match (self, &flags.request.scenario) {
            (Self::Scenario(scenario, _), Some(file)) => (scenario, file),
            (Self::Request { request, .. }, _) => {
                let file = match &request.body {
                    Body::File(file) => Some(file),
                    Body::Records(records) => Some(&records.file),
                    Body::None | Body::Text(_) | Body::Random(_) => None,
                };
                let needed = |file: &String| {
                    Some(NeededFile {
                        file: file.into(),
                        name: folders.name_of(Path::new(file))?.into(),
                    })
                };
                return Ok(file.and_then(needed).into_iter().collect());
            }
            (Self::Scenario(..), None) => return Ok(Vec::new()),
        };
        let (scenario, file) = scenario;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut needed = vec![NeededFile {
            file: file.clone(),
            name: SCENARIO.into(),
        }];
        for from in scenario.feeds.iter().filter_map(|feed| feed.from.as_ref()) {
            let name = Path::new(from);
            let is_below = name
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if folders.keeps() && !is_below && !name.is_absolute() {
                bail!(
                    "--save: {from} is not in the folder of the scenario, so it cannot be copied to the run folder"
                );
            }
            if folders.keeps() && is_below && !run_folders::is_free(name) {
                bail!(
                    "--save: {from} has the name of a file of the run; rename the file of the feed"
                );
            }
            if is_below {
                needed.push(NeededFile {
                    file: folder.join(name),
                    name: name.into(),
                });
            }
        }
        Ok(needed)
    }

    /// Sets it in a cell, secrets included.
    fn put(&self, cell: &mut Cell) -> Result<()> {
        match (self, &mut cell.what) {
            (Self::Request { request, .. }, What::Request(planned)) => planned.clone_from(request),
            (Self::Scenario(scenario, _), What::Scenario(planned)) => {
                *planned = std::sync::Arc::new(Scenario::clone(scenario));
            }
            _ => bail!("a load is of one request or of one scenario"),
        }
        Ok(())
    }
}

fn expect(flags: &Load, request: &Request) -> Result<Expect> {
    let mut expect = Expect {
        status: Vec::new(),
        body: BodyExpect::Any,
    };
    for expectation in &flags.judged.expect {
        let body = match expectation {
            Expectation::Status(codes) => {
                expect.status.extend(codes);
                continue;
            }
            Expectation::BodyEquals(text) => BodyExpect::Equals(text.clone()),
            Expectation::BodyContains(text) => BodyExpect::Contains(vec![text.clone()]),
        };
        if request.method == "HEAD" {
            bail!("--expect: the answer to HEAD has no body");
        }
        if expect.body != BodyExpect::Any {
            bail!("--expect: at most one body_equals or body_contains");
        }
        expect.body = body;
    }
    expect.status.sort_unstable();
    expect.status.dedup();
    Ok(expect)
}

fn measure(flags: &Load, defaults: &mut Vec<String>) -> Result<Option<Duration>> {
    if flags.until.requests.is_some() && flags.until.warm_up.is_some_and(|time| !time.is_zero()) {
        bail!("-n also counts the requests of --warm-up; with a warm-up write --duration instead");
    }
    if !flags.model.stages.is_empty() {
        let stages: Duration = flags.model.stages.iter().map(|stage| stage.over).sum();
        if stages < DURATION_MIN {
            bail!(
                "--stages: the stages take {} in total; a load shorter than {} cannot be measured",
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

/// Length of an interval: near the wanted one, and a divisor of the measured time, so that the phase ends with an interval. It is
/// not below the minimum of a study.
fn interval(flags: &Load, measure: Option<Duration>) -> Duration {
    let row = flags.output.interval.unwrap_or(Duration::from_secs(1));
    let Some(measure) = measure else {
        return INTERVALS[0].min(row);
    };
    let wanted = wanted_interval(measure).min(row);
    let most = (measure.as_nanos() / INTERVAL_MIN.as_nanos()).max(1);
    let parts = measure.as_nanos().div_ceil(wanted.as_nanos()).min(most);
    // With a few more or fewer parts, a part is usually a whole number of nanoseconds.
    let more = parts..(2 * parts).min(most + 1);
    let less = (parts.div_ceil(2)..parts).rev();
    let whole = more
        .chain(less)
        .find(|parts| measure.as_nanos().is_multiple_of(*parts));
    measure / u32::try_from(whole.unwrap_or(parts)).unwrap_or(u32::MAX)
}

/// The shortest of [`INTERVALS`] with at most [`INTERVALS_WANTED_MAX`] in the measured time.
fn wanted_interval(measure: Duration) -> Duration {
    let [.., longest] = INTERVALS;
    let few = |interval: &Duration| measure <= *interval * INTERVALS_WANTED_MAX;
    INTERVALS.into_iter().find(few).unwrap_or(longest)
}

/// A time rounded up to whole intervals.
fn whole_intervals(time: Duration, interval: Duration) -> Duration {
    let intervals = time.as_nanos().div_ceil(interval.as_nanos().max(1));
    interval * u32::try_from(intervals).unwrap_or(u32::MAX)
}
