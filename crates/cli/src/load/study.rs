//! A load as the text of a study of one cell, on a server that runs already. Pure; `planned` has it checked.
//!
//! The text can be kept and run again, so secrets are not in it, by the rule of `waggle init`; files of the user's that it names are told
//! by whole paths, but for a scenario and its feeds, which are put beside it. A header twice and headers of the connection, which a study has no
//! words for, are left out with a line that says so.

use std::{
    fmt::{Display, Write},
    path::Path,
    time::Duration,
};

use waggle_stats::Settings as Levels;
use waggle_study::{
    Body, BodyExpect, Expect, MAX_INTERVALS, MAX_PHASE, RecordsBody, RecordsFormat, Request,
    Threshold,
};
use waggle_units::format_duration;

use super::{
    arguments::{Load, Secure},
    model,
    parse::{ArrivalsName, SoughtName},
    place::{Place, SCENARIO},
    summary::{ModelName, Settings},
    target::Target,
};
use crate::init::{self, Call, json_string, literal};

/// The name of the one request.
pub(super) const REQUEST_NAME: &str = "request";

/// What a load is to be, all of it decided.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) flags: &'a Load,
    pub(super) target: &'a Target,
    pub(super) settings: &'a Settings,
    pub(super) sent: SentAs<'a>,
    pub(super) times: Times,
    pub(super) seed: u64,
    /// Conditions on the result.
    pub(super) thresholds: &'a [Threshold],
    pub(super) sought: Option<&'a Sought>,
    /// Where bodies and records lie that no file of the user's has.
    pub(super) place: &'a Place,
    /// The bytes of such a body, if they are kept.
    pub(super) made_body: Option<&'a [u8]>,
}

/// The text, and what lies beside it.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) text: String,
    pub(super) made_body: MadeBody,
}

/// What becomes of a body that was made for this load.
#[derive(Debug)]
pub(super) enum MadeBody {
    AsSent,
    /// It has no secret in it any more.
    Text(String),
    LeftOut,
}

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum SentAs<'a> {
    Request(&'a Request),
    /// A scenario of this name.
    Scenario(&'a str),
}

/// How long everything takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) interval: Duration,
    pub(super) warm_up: Duration,
    /// `None`: until the count is reached.
    pub(super) measure: Option<Duration>,
}

/// What is searched for, between which levels, and under which conditions.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    pub(super) what: SoughtName,
    pub(super) levels: Levels,
    pub(super) conditions: Vec<Threshold>,
}

pub(super) fn write_study(asked: &Asked<'_>) -> Written {
    let call = match asked.sent {
        SentAs::Request(request) => Some(Told::from_request(request, asked)),
        SentAs::Scenario(_) => None,
    };
    let (wanted, left_out) = match &call {
        Some(told) => (&told.wanted[..], &told.left_out[..]),
        None => Default::default(),
    };
    let by = "waggle load --save; waggle run runs it again.";
    let mut text = init::beginning(by, wanted, left_out);
    if asked.keeps_bytes() {
        text.push_str("# Kept as it was sent, secrets included: the body, which is no text\n");
    }
    let mut made_body = MadeBody::AsSent;
    let origin = asked.target.origin();
    init::question(&mut text, "load", &origin);
    if let Ok(seed) = i64::try_from(asked.seed) {
        let _ = writeln!(text, "seed: {seed}");
    }
    system(&mut text, asked, &origin);
    load(&mut text, asked);
    match asked.sent {
        SentAs::Request(request) => {
            text.push_str("  request:\n");
            if let Some(told) = call {
                init::call_text(&mut text, &told.call, REQUEST_NAME);
                made_body = told.made_body;
                if !matches!(made_body, MadeBody::LeftOut) {
                    body(&mut text, request, asked.place);
                }
                expect(&mut text, &told.expect);
            }
            let _ = writeln!(text, "    timeout: {}", format_duration(request.timeout));
        }
        // It lies beside the study, and its feeds with it.
        SentAs::Scenario(_) => {
            let _ = writeln!(text, "  scenario: {{ file: {SCENARIO} }}");
        }
    }
    schedule(&mut text, asked);
    conditions(&mut text, asked);
    Written { text, made_body }
}

fn system(text: &mut String, asked: &Asked<'_>, origin: &str) {
    let _ = writeln!(text, "system:\n  url: {}", json_string(origin));
    if let Some((host, port)) = asked.target.connect_override(&asked.flags.way.connect_to) {
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
    if asked.target.is_secure {
        tls(text, &asked.flags.secure);
    }
    text.push_str("  smoke_test: false\n");
}

fn tls(text: &mut String, flags: &Secure) {
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

fn load(text: &mut String, asked: &Asked<'_>) {
    let (settings, flags) = (asked.settings, &asked.flags.model);
    let sought = asked.sought.map(|sought| sought.what);
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
        && sought != Some(SoughtName::Connections)
    {
        key("connections", &connections);
    }
    if let Some(requests) = settings.pipelining.filter(|requests| *requests > 1) {
        key("pipelining", &requests);
    }
    if let Some(rate) = settings.rate_per_s
        && sought != Some(SoughtName::Rate)
    {
        key("rate", &format_args!("{rate}/s"));
    }
    if flags.arrivals == Some(ArrivalsName::Uniform) {
        key("arrivals", &"uniform");
    }
    if let Some(users) = settings.users {
        if sought != Some(SoughtName::Users) {
            key("users", &users);
        }
        key("think_time", &model::think_text(flags));
    }
    if !flags.stages.is_empty() {
        let per_s = if settings.users.is_some() { "" } else { "/s" };
        let stage = |stage: &super::parse::StageText| {
            let over = format_duration(stage.over);
            format!("{{ duration: {over}, target: {}{per_s} }}", stage.to)
        };
        let stages: Vec<String> = flags.stages.iter().map(stage).collect();
        key("stages", &format_args!("[{}]", stages.join(", ")));
    }
    if let Some(workers) = asked.flags.way.workers {
        // A worker without a connection has nothing to do, and no study asks for one.
        let most = settings.connections.or(settings.users).unwrap_or(1);
        key("workers", &workers.min(most));
    }
    if asked.flags.secure.http2 {
        key("protocol", &"http2");
    }
    if let SentAs::Request(request) = asked.sent
        && asked.keeps_none_alive(request)
    {
        key("keep_alive", &false);
    }
}

impl Asked<'_> {
    /// Whether a body is kept in which no secret can be told from the rest.
    pub(super) fn keeps_bytes(&self) -> bool {
        self.made_body
            .is_some_and(|bytes| str::from_utf8(bytes).is_err())
    }

    /// Whether a study says by a key of its own that connections are not kept.
    fn keeps_none_alive(&self, request: &Request) -> bool {
        request.headers.iter().any(closes) && self.settings.pipelining.unwrap_or(1) == 1
    }
}

fn closes((name, value): &(String, String)) -> bool {
    name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
}

/// A request as the text has it.
struct Told {
    call: Call,
    wanted: Vec<String>,
    left_out: Vec<String>,
    expect: Expect,
    made_body: MadeBody,
}

impl Told {
    fn from_request(request: &Request, asked: &Asked<'_>) -> Self {
        let mut headers = request.headers.clone();
        if asked.keeps_none_alive(request) {
            headers.retain(|header| !closes(header));
        }
        let made_text = asked.made_body.and_then(|bytes| str::from_utf8(bytes).ok());
        let body = match &request.body {
            Body::Text(text) => Some(text.clone()),
            Body::File(_) => made_text.map(str::to_owned),
            Body::None | Body::Random(_) | Body::Records(_) => None,
        };
        let call = Call {
            name: REQUEST_NAME.to_owned(),
            method: request.method.clone(),
            origin: asked.target.origin(),
            path: request.path.clone(),
            headers,
            body,
            ..Call::default()
        };
        let (mut call, wanted, mut left_out) = init::without_secrets(call);
        let made_body = match made_text {
            None => MadeBody::AsSent,
            Some(_) => (call.body.take()).map_or(MadeBody::LeftOut, MadeBody::Text),
        };
        Self {
            call,
            wanted,
            expect: Expect {
                status: request.expect.status.clone(),
                body: expected_body(&request.expect.body, &mut left_out),
            },
            left_out,
            made_body,
        }
    }
}

/// What an answer is held against, without secrets.
fn expected_body(expect: &BodyExpect, left_out: &mut Vec<String>) -> BodyExpect {
    let mut masked = |text: &str| {
        let (text, names) = init::text_without_secrets(text);
        if !names.is_empty() {
            let names = names.join(", ");
            left_out.push(format!(
                "{names} in the answer that is expected: stands there as REPLACE-ME"
            ));
        }
        text
    };
    match expect {
        BodyExpect::Any => BodyExpect::Any,
        BodyExpect::Equals(text) => BodyExpect::Equals(masked(text)),
        BodyExpect::Contains(texts) => {
            BodyExpect::Contains(texts.iter().map(|text| masked(text)).collect())
        }
    }
}

fn body(text: &mut String, request: &Request, place: &Place) {
    match &request.body {
        Body::File(file) => {
            let _ = writeln!(text, "    body_file: {}", file_name_in_study(file, place));
        }
        Body::Records(records) => {
            self::records(text, records, place);
            let is_content_type = |name: &String| name.eq_ignore_ascii_case("content-type");
            if request.without_headers.iter().any(is_content_type) {
                text.push_str("    without_headers: [Content-Type]\n");
            }
        }
        // The call has it.
        Body::None | Body::Text(_) | Body::Random(_) => {}
    }
}

fn records(text: &mut String, records: &RecordsBody, place: &Place) {
    let name = |format: RecordsFormat| match format {
        RecordsFormat::LineProtocol => "line-protocol",
        RecordsFormat::Ndjson => "ndjson",
        RecordsFormat::Json => "json",
        RecordsFormat::Csv => "csv",
    };
    let _ = writeln!(
        text,
        "    records:\n      file: {}\n      format: {}\n      send_as: {}\n      per_request: {}",
        file_name_in_study(&records.file, place),
        name(records.format),
        name(records.send_as),
        records.per_request
    );
    let columns = [
        ("measurement", &records.measurement),
        ("time", &records.time),
    ];
    for (key, column) in columns {
        if let Some(column) = column {
            let _ = writeln!(text, "      {key}: {}", json_string(column));
        }
    }
    if !records.tags.is_empty() {
        let tags: Vec<String> = records.tags.iter().map(|tag| json_string(tag)).collect();
        let _ = writeln!(text, "      tags: [{}]", tags.join(", "));
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

fn schedule(text: &mut String, asked: &Asked<'_>) {
    let Times {
        interval,
        warm_up,
        measure,
    } = asked.times;
    let within = |time: Duration| format_duration(within_a_phase(time, interval));
    let most = measure.unwrap_or(MAX_PHASE);
    let measured = match asked.flags.until.requests {
        Some(requests) => format!("{{ requests: {requests}, timeout: {} }}", within(most)),
        None => within(most),
    };
    let _ = writeln!(
        text,
        "schedule:\n  warm_up: {}\n  measure: {measured}\n  interval: {}\n  stop_when: []",
        within(warm_up),
        format_duration(interval)
    );
    if asked.sought.is_none() {
        text.push_str("  repeat: 1\n");
    }
}

/// As much of a time as a phase of a study can take, in whole intervals.
fn within_a_phase(time: Duration, interval: Duration) -> Duration {
    let intervals = time.min(MAX_PHASE).as_nanos() / interval.as_nanos().max(1);
    interval * u32::try_from(intervals).map_or(MAX_INTERVALS, |count| count.min(MAX_INTERVALS))
}

fn conditions(text: &mut String, asked: &Asked<'_>) {
    let name = match asked.sent {
        SentAs::Request(_) => REQUEST_NAME,
        SentAs::Scenario(name) => name,
    };
    let written = |conditions: &[Threshold], indent: &str| -> String {
        let one = |condition: &Threshold| {
            format!(
                "{indent}- {}\n",
                json_string(&with_request(condition, name))
            )
        };
        conditions.iter().map(one).collect()
    };
    if let Some(sought) = asked.sought {
        let per_s = match sought.what {
            SoughtName::Rate => "/s",
            SoughtName::Users | SoughtName::Connections => "",
        };
        let levels = &sought.levels;
        let _ = writeln!(
            text,
            "search:\n  maximize: {}\n  start: {start}{per_s}\n  min: {min}{per_s}\n  max: {max}{per_s}\n  \
             precision: {precision}\n  confirmations: {confirmations}\n  max_trials: {max_trials}\n  conditions:",
            sought.what.level_kind(),
            start = levels.start,
            min = levels.min,
            max = levels.max,
            precision = levels.precision,
            confirmations = levels.confirmations,
            max_trials = levels.max_trials,
        );
        text.push_str(&written(&sought.conditions, "    "));
    }
    if !asked.thresholds.is_empty() {
        text.push_str("thresholds:\n");
        text.push_str(&written(asked.thresholds, "  "));
    }
}

/// In a study numbers of the load stand behind the name of what is sent; those of a step, of sessions and of the generator have their own.
fn with_request(condition: &Threshold, name: &str) -> String {
    let text = condition.text.trim_start();
    if is_of_load(condition) {
        format!("{name}.{text}")
    } else {
        text.to_owned()
    }
}

/// Whether its number is one of all that is sent.
fn is_of_load(condition: &Threshold) -> bool {
    let path: Vec<&str> = condition.metric.iter().map(String::as_str).collect();
    // A metric of the load stands first only where nothing comes before it.
    waggle_study::read_threshold(&condition.text, &[]).is_ok() && path.first() != Some(&"generator")
}

/// A file as the study names it: beside it, if it was made for this load.
fn file_name_in_study(file: &str, place: &Place) -> String {
    let file = Path::new(file);
    match place.name_of(file) {
        Some(name) => literal(&name.display().to_string()),
        None => whole_path(file),
    }
}

fn whole_path(file: &Path) -> String {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    literal(&whole.display().to_string())
}
