//! Writes a load as the text of a study with one cell, on an external server. Pure; `planned` checks the text.
//!
//! The text can be saved and run again, so it contains no secrets, by the rules of `waggle init`. It names files of the user by
//! absolute path; a scenario and its feeds are copied to the folder of the study. Repeated headers and headers of the connection,
//! which a study cannot express, are left out, and a comment in the study says so.
// long: one function for each part of a saved study

use std::{
    fmt::{Display, Write},
    path::Path,
    time::Duration,
};

use waggle_convert::{Call, MARK, Target, json_string, literal, record_lines};
use waggle_spec::{Protocol, Threshold};
use waggle_stats::Settings as Levels;
use waggle_study::{Body, BodyExpect, Expect, MAX_INTERVALS, MAX_PHASE, RecordsBody, Request};
use waggle_units::{format_duration, format_size};

use super::{
    model,
    run_folders::{RunFolders, SCENARIO},
};
use crate::{
    arguments::{
        load::{Load, TlsFlags},
        parse::{ArrivalsName, SearchVariable},
        target::connect_override,
    },
    commands::load::result::summary::{ModelName, Settings},
};

/// Name of the request.
pub(in crate::commands::load) const REQUEST_NAME: &str = "request";

/// The load to write: flags with their defaults resolved.
#[derive(Debug)]
pub(in crate::commands::load) struct LoadSpec<'a> {
    pub(in crate::commands::load) flags: &'a Load,
    pub(in crate::commands::load) target: &'a Target,
    pub(in crate::commands::load) settings: &'a Settings,
    pub(in crate::commands::load) sent: Payload<'a>,
    pub(in crate::commands::load) times: Times,
    pub(in crate::commands::load) seed: u64,
    /// Conditions on the result.
    pub(in crate::commands::load) thresholds: &'a [Threshold],
    pub(in crate::commands::load) search: Option<&'a SearchSettings>,
    /// The folders that contain generated files: bodies and records that are in no file of the user.
    pub(in crate::commands::load) folders: &'a RunFolders,
    /// The bytes of a generated body, if the run is saved.
    pub(in crate::commands::load) generated_body: Option<&'a [u8]>,
}

/// The text of the study, and the body that is saved with it.
#[derive(Debug)]
pub(in crate::commands::load) struct Written {
    pub(in crate::commands::load) text: String,
    pub(in crate::commands::load) generated_body: GeneratedBody,
}

/// How a generated body is saved.
#[derive(Debug)]
pub(in crate::commands::load) enum GeneratedBody {
    AsSent,
    /// With its secrets masked.
    Text(String),
    LeftOut,
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands::load) enum Payload<'a> {
    Request(&'a Request),
    /// A scenario of this name.
    Scenario(&'a str),
}

/// Lengths of intervals and phases.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands::load) struct Times {
    pub(in crate::commands::load) interval: Duration,
    pub(in crate::commands::load) warm_up: Duration,
    /// `None`: until the request count is reached.
    pub(in crate::commands::load) measure: Option<Duration>,
}

/// A capacity search: what is maximized, between which levels, and under which conditions.
#[derive(Debug, Clone)]
pub(in crate::commands::load) struct SearchSettings {
    pub(in crate::commands::load) what: SearchVariable,
    pub(in crate::commands::load) levels: Levels,
    pub(in crate::commands::load) conditions: Vec<Threshold>,
}

pub(in crate::commands::load) fn write_study(spec: &LoadSpec<'_>) -> Written {
    let call = match spec.sent {
        Payload::Request(request) => Some(StudyRequest::from_request(request, spec)),
        Payload::Scenario(_) => None,
    };
    let (wanted, left_out) = match &call {
        Some(request) => (&request.wanted[..], &request.left_out[..]),
        None => Default::default(),
    };
    let by = "waggle load --save; waggle run repeats it.";
    let mut text = waggle_convert::beginning(by, wanted, left_out);
    if spec.keeps_bytes() {
        text.push_str("# Saved unchanged, including any secrets: the body, which is not text\n");
    }
    let mut generated_body = GeneratedBody::AsSent;
    let origin = spec.target.origin();
    waggle_convert::question(&mut text, "load", &origin);
    if let Ok(seed) = i64::try_from(spec.seed) {
        let _ = writeln!(text, "seed: {seed}");
    }
    system(&mut text, spec, &origin);
    load(&mut text, spec);
    match spec.sent {
        Payload::Request(request) => {
            text.push_str("  request:\n");
            if let Some(written) = call {
                waggle_convert::call_text(&mut text, &written.call, REQUEST_NAME);
                generated_body = written.generated_body;
                if !matches!(generated_body, GeneratedBody::LeftOut) {
                    body(&mut text, request, spec.folders);
                }
                expect(&mut text, &written.expect);
            }
            let _ = writeln!(text, "    timeout: {}", format_duration(request.timeout));
        }
        // The scenario and its feeds are copied to the folder of the study.
        Payload::Scenario(_) => {
            let _ = writeln!(text, "  scenario: {{ file: {SCENARIO} }}");
        }
    }
    schedule(&mut text, spec);
    conditions(&mut text, spec);
    Written {
        text,
        generated_body,
    }
}

fn system(text: &mut String, spec: &LoadSpec<'_>, origin: &str) {
    let _ = writeln!(text, "system:\n  url: {}", json_string(origin));
    if let Some((host, port)) = connect_override(spec.target, &spec.flags.way.connect_to) {
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let _ = writeln!(
            text,
            "  connect_to: {}",
            json_string(&format!("{host}:{port}"))
        );
    }
    if spec.target.is_secure {
        tls(text, &spec.flags.secure);
    }
    text.push_str("  smoke_test: false\n");
}

fn tls(text: &mut String, flags: &TlsFlags) {
    let files = [
        ("ca", &flags.cacert),
        ("cert", &flags.cert),
        ("key", &flags.key),
    ];
    let mut keys: Vec<String> = files
        .iter()
        .filter_map(|(key, file)| Some(format!("{key}: {}", whole_path(file.as_ref()?))))
        .collect();
    if flags.insecure {
        keys.insert(0, "insecure_skip_verify: true".to_owned());
    }
    if flags.no_sessionid {
        keys.push("session_resumption: false".to_owned());
    }
    if !keys.is_empty() {
        let _ = writeln!(text, "  tls: {{ {} }}", keys.join(", "));
    }
}

fn load(text: &mut String, spec: &LoadSpec<'_>) {
    let (settings, flags) = (spec.settings, &spec.flags.model);
    let search = spec.search.map(|search| search.what);
    let model = match settings.model {
        ModelName::Closed => "closed",
        ModelName::Open => "open",
        ModelName::Users => "users",
    };
    text.push_str("load:\n");
    let mut key = |key: &str, value: &dyn Display| {
        let _ = writeln!(text, "  {key}: {value}");
    };
    key("model", &model);
    if let Some(connections) = settings.connections
        && search != Some(SearchVariable::Connections)
    {
        key("connections", &connections);
    }
    if let Some(requests) = settings.pipelining.filter(|requests| *requests > 1) {
        key("pipelining", &requests);
    }
    if let Some(rate) = settings.rate_per_s
        && search != Some(SearchVariable::Rate)
    {
        key("rate", &format_args!("{rate}/s"));
    }
    if flags.arrivals == Some(ArrivalsName::Uniform) {
        key("arrivals", &"uniform");
    }
    if let Some(users) = settings.users {
        if search != Some(SearchVariable::Users) {
            key("users", &users);
        }
        key("think_time", &model::think_text(flags));
    }
    if !flags.stages.is_empty() {
        let per_s = if settings.users.is_some() { "" } else { "/s" };
        let stage = |stage: &crate::arguments::parse::StageText| {
            let over = format_duration(stage.over);
            format!("{{ duration: {over}, target: {}{per_s} }}", stage.to)
        };
        let stages: Vec<String> = flags.stages.iter().map(stage).collect();
        key("stages", &format_args!("[{}]", stages.join(", ")));
    }
    if let Some(generators) = spec.flags.way.generators {
        key("generators", &generators);
    }
    if let Some(workers) = spec.flags.way.workers {
        // A study may not have more workers than connections.
        let most = settings.connections.or(settings.users).unwrap_or(1);
        key("workers", &workers.min(most));
    }
    match spec.flags.secure.protocol() {
        Protocol::Http1 => {}
        Protocol::Http2 => key("protocol", &"http2"),
        Protocol::Auto => key("protocol", &"auto"),
    }
    if let Some(bytes) = spec.flags.way.max_header_size {
        key("max_header_size", &format_size(bytes));
    }
    if let Some(headers) = spec.flags.way.max_headers {
        key("max_headers", &headers);
    }
    if let Payload::Request(request) = spec.sent
        && spec.disables_keep_alive(request)
    {
        key("keep_alive", &false);
    }
}

impl LoadSpec<'_> {
    /// Whether a body is saved that is not text, so its secrets cannot be masked.
    pub(in crate::commands::load) fn keeps_bytes(&self) -> bool {
        self.generated_body
            .is_some_and(|bytes| str::from_utf8(bytes).is_err())
    }

    /// Whether the study has `keep_alive: false` instead of a header.
    fn disables_keep_alive(&self, request: &Request) -> bool {
        let mut headers = request.headers.iter();
        headers.any(|(name, value)| closes(name, value))
            && self.settings.pipelining.unwrap_or(1) == 1
    }
}

fn closes(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
}

/// A request without its secrets.
struct StudyRequest {
    call: Call,
    wanted: Vec<String>,
    left_out: Vec<String>,
    expect: Expect,
    generated_body: GeneratedBody,
}

impl StudyRequest {
    fn from_request(request: &Request, spec: &LoadSpec<'_>) -> Self {
        let mut headers = request.headers.clone();
        if spec.disables_keep_alive(request) {
            headers.retain(|(name, value)| !closes(name, value));
        }
        let made_text = spec
            .generated_body
            .and_then(|bytes| str::from_utf8(bytes).ok());
        let body = match &request.body {
            Body::Text(text) => Some(text.clone()),
            Body::None | Body::File(_) | Body::Random(_) | Body::Records(_) => None,
        };
        let call = Call {
            name: REQUEST_NAME.to_owned(),
            method: request.method.clone(),
            origin: spec.target.origin(),
            path: request.path.clone(),
            headers,
            body,
            ..Call::default()
        };
        let (mut call, wanted, mut left_out) = waggle_convert::without_secrets(call);
        let generated_body = match made_text {
            None => GeneratedBody::AsSent,
            Some(text) => body_file(text, &mut call, &mut left_out),
        };
        Self {
            call,
            wanted,
            expect: Expect {
                status: request.expect.status.clone(),
                body: expected_body(&request.expect.body, &mut left_out),
            },
            left_out,
            generated_body,
        }
    }
}

/// The text of a body in a file, without secrets.
fn body_file(text: &str, call: &mut Call, left_out: &mut Vec<String>) -> GeneratedBody {
    let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
    let mut headers = call.headers.iter();
    let media_type = headers.find(|(name, _)| is_type(name));
    let media_type = media_type.map_or("", |(_, value)| value);
    let name = &call.name;
    match waggle_convert::file_without_secrets(text, media_type) {
        Ok((text, names)) => {
            if !names.is_empty() {
                let names = names.join(", ");
                left_out.push(format!(
                    "{names} in the body of {name}: replaced by {}; a feed can set it",
                    MARK
                ));
            }
            GeneratedBody::Text(text)
        }
        Err(why) => {
            left_out.push(format!("the body of {name}: {why}"));
            call.headers.retain(|(name, _)| !is_type(name));
            GeneratedBody::LeftOut
        }
    }
}

/// The expectation on the body of an answer, without secrets.
fn expected_body(expect: &BodyExpect, left_out: &mut Vec<String>) -> BodyExpect {
    let mut masked = |text: &String| mask_expected(text, left_out);
    match expect {
        BodyExpect::Any => BodyExpect::Any,
        BodyExpect::Equals(text) => BodyExpect::Equals(masked(text)),
        BodyExpect::Contains(texts) => BodyExpect::Contains(texts.iter().map(masked).collect()),
    }
}

fn mask_expected(text: &str, left_out: &mut Vec<String>) -> String {
    let (text, names) = waggle_convert::text_without_secrets(text);
    if !names.is_empty() {
        let names = names.join(", ");
        left_out.push(format!(
            "{names} in the expected answer: replaced by REPLACE-ME"
        ));
    }
    text
}

fn body(text: &mut String, request: &Request, folders: &RunFolders) {
    match &request.body {
        Body::File(file) => {
            let _ = writeln!(text, "    body_file: {}", file_name_in_study(file, folders));
        }
        Body::Records(records) => {
            self::records(text, records, folders);
            let is_content_type = |name: &String| name.eq_ignore_ascii_case("content-type");
            if request.without_headers.iter().any(is_content_type) {
                text.push_str("    without_headers: [Content-Type]\n");
            }
        }
        // Already written with the call.
        Body::None | Body::Text(_) | Body::Random(_) => {}
    }
}

fn records(text: &mut String, records: &RecordsBody, folders: &RunFolders) {
    text.push_str("    records:\n");
    for line in record_lines(records, &file_name_in_study(&records.file, folders)) {
        let _ = writeln!(text, "      {line}");
    }
}

fn expect(text: &mut String, expect: &Expect) {
    let mut keys = Vec::new();
    if !expect.status.is_empty() {
        let codes: Vec<String> = expect.status.iter().map(ToString::to_string).collect();
        keys.push(format!("status: [{}]", codes.join(", ")));
    }
    match &expect.body {
        BodyExpect::Any => {}
        BodyExpect::Equals(body) => keys.push(format!("body_equals: {}", literal(body))),
        BodyExpect::Contains(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| literal(text)).collect();
            keys.push(match &texts[..] {
                [text] => format!("body_contains: {text}"),
                _ => format!("body_contains: [{}]", texts.join(", ")),
            });
        }
    }
    if !keys.is_empty() {
        let _ = writeln!(text, "    expect: {{ {} }}", keys.join(", "));
    }
}

fn schedule(text: &mut String, spec: &LoadSpec<'_>) {
    let Times {
        interval,
        warm_up,
        measure,
    } = spec.times;
    let phase = |time: Duration| format_duration(limit_to_phase(time, interval));
    let most = measure.unwrap_or(MAX_PHASE);
    let measured = match spec.flags.until.requests {
        Some(requests) => format!("{{ requests: {requests}, timeout: {} }}", phase(most)),
        None => phase(most),
    };
    let _ = writeln!(
        text,
        "schedule:\n  warm_up: {}\n  measure: {measured}\n  interval: {}\n  stop_when: []",
        phase(warm_up),
        format_duration(interval)
    );
    if spec.search.is_none() {
        text.push_str("  repeat: 1\n");
    }
}

/// Limits a time to the longest phase of a study, in whole intervals.
fn limit_to_phase(time: Duration, interval: Duration) -> Duration {
    let intervals = time.min(MAX_PHASE).as_nanos() / interval.as_nanos().max(1);
    interval * u32::try_from(intervals).map_or(MAX_INTERVALS, |count| count.min(MAX_INTERVALS))
}

fn conditions(text: &mut String, spec: &LoadSpec<'_>) {
    let name = match spec.sent {
        Payload::Request(_) => REQUEST_NAME,
        Payload::Scenario(name) => name,
    };
    let item = |condition: &Threshold| json_string(&with_request(condition, name));
    if let Some(search) = spec.search {
        let per_s = match search.what {
            SearchVariable::Rate => "/s",
            SearchVariable::Users | SearchVariable::Connections => "",
        };
        let levels = &search.levels;
        let _ = writeln!(
            text,
            "search:\n  maximize: {}\n  start: {start}{per_s}\n  min: {min}{per_s}\n  max: {max}{per_s}\n  \
             precision: {precision}\n  confirmations: {confirmations}\n  max_trials: {max_trials}\n  conditions:",
            search.what.level_kind(),
            start = levels.start,
            min = levels.min,
            max = levels.max,
            precision = levels.precision,
            confirmations = levels.confirmations,
            max_trials = levels.max_trials,
        );
        for condition in &search.conditions {
            let _ = writeln!(text, "    - {}", item(condition));
        }
        if let Some(most) = levels.max_connections {
            let _ = writeln!(text, "  max_connections: {most}");
        }
    }
    if !spec.thresholds.is_empty() {
        text.push_str("thresholds:\n");
        for condition in spec.thresholds {
            let _ = writeln!(text, "  - {}", item(condition));
        }
    }
}

/// A condition as a study writes it. Metrics of the whole load get the name of the request or scenario as prefix; those of a
/// step, of sessions and of the load generator have a prefix already.
fn with_request(condition: &Threshold, name: &str) -> String {
    let text = condition.text.trim_start();
    if is_of_load(condition) {
        format!("{name}.{text}")
    } else {
        text.to_owned()
    }
}

/// Whether its metric is one of the whole load.
fn is_of_load(condition: &Threshold) -> bool {
    let path: Vec<&str> = condition.metric.iter().map(String::as_str).collect();
    // Without known steps, only metrics of the load can be parsed.
    waggle_study::read_threshold(&condition.text, &[]).is_ok() && path.first() != Some(&"generator")
}

/// The path of a file in the study: relative to the study if it was generated for this load, else absolute.
fn file_name_in_study(file: &str, folders: &RunFolders) -> String {
    let file = Path::new(file);
    match folders.name_of(file) {
        Some(name) => literal(&name.display().to_string()),
        None => whole_path(file),
    }
}

fn whole_path(file: &Path) -> String {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    literal(&whole.display().to_string())
}
