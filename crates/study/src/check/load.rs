//! The load model and its keys.

use std::time::Duration;

use waggle_spec::{Arrivals, LoadKind, LoadModel, OnSocketError, Protocol, Think};
use waggle_units::{format_duration, format_size};

use super::{Checker, path::Path, path_text, request::TIMEOUT_BOUNDS, stages::highest};
use crate::{
    HeaderLimits, Problem, Request, What, at::Bounds, mistake::Finding, nearest::list, raw,
};

/// Connections of an open load that names none.
pub(super) const OPEN_CONNECTIONS: u32 = 50;
/// Most requests in flight at once.
pub(crate) const MAX_IN_FLIGHT: u64 = 1_000_000;
/// Most connections, and most users, of a load.
pub const MAX_CONNECTIONS: u32 = 100_000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STAGES: [&str; 2] = ["load", "stages"];
/// Highest rate of an open load, per second.
pub const MAX_RATE_PER_S: f64 = 10_000_000.0;
/// Longest think time.
const MAX_THINK: Duration = Duration::from_secs(3600);

/// The model with its numbers; the keys that belong to another model are mistakes.
pub(crate) fn load(checker: &mut Checker<'_>, raw: &raw::Load) -> Option<LoadModel> {
    let model = raw.model?;
    refuse_foreign_keys(checker, raw, model);
    match model {
        LoadKind::Closed => closed_model(checker, raw),
        LoadKind::Open => open(checker, raw),
        LoadKind::Users => users(checker, raw),
        LoadKind::Clients => clients(checker, raw),
    }
}

/// Load worker threads; each needs a connection of its own, and each generator needs a worker.
pub(crate) fn load_workers(
    checker: &mut Checker<'_>,
    raw: &raw::Load,
    model: &LoadModel,
) -> Option<u32> {
    let workers = raw.workers?;
    limit_by_connections(checker, model, "workers", workers);
    let generators = raw.generators.unwrap_or(1);
    if workers < generators {
        let what = format!("load.workers is {workers} with {generators} generators");
        let expected = format!("a worker for each generator: workers: {generators}");
        checker.report(
            Finding::new(checker.position_of(&["load", "workers"]), what).with_expected(expected),
        );
    }
    Some(workers)
}

/// Processes that make the load; each needs a connection of its own.
pub(crate) fn generators(checker: &mut Checker<'_>, raw: &raw::Load, model: &LoadModel) -> u32 {
    let Some(generators) = raw.generators else {
        return 1;
    };
    limit_by_connections(checker, model, "generators", generators);
    generators
}

fn limit_by_connections(checker: &mut Checker<'_>, model: &LoadModel, key: &str, value: u32) {
    let (most, word) = match model {
        LoadModel::Closed { .. } | LoadModel::Open { .. } => (model.connections(), "connections"),
        LoadModel::Users { users, .. } => (*users, "users"),
        // Those of a client are of one worker.
        LoadModel::Clients { clients, .. } => (*clients, "clients"),
    };
    if value > most {
        let what = format!("load.{key} is {value} with {most} {word}");
        let expected = format!("at most as many {key} as {word}");
        checker.report(
            Finding::new(checker.position_of(&["load", key]), what).with_expected(expected),
        );
    }
}

fn keys(model: LoadKind) -> &'static [&'static str] {
    match model {
        LoadKind::Closed => &["connections", "pipelining"],
        LoadKind::Open => &["rate", "stages", "arrivals", "connections", "pipelining"],
        LoadKind::Users => &["users", "stages", "think_time"],
        LoadKind::Clients => &["clients", "connections", "requests", "on_socket_error"],
    }
}

fn refuse_foreign_keys(checker: &mut Checker<'_>, raw: &raw::Load, model: LoadKind) {
    let given = [
        ("connections", raw.connections.is_some()),
        ("pipelining", raw.pipelining.is_some()),
        ("rate", raw.rate.is_some()),
        ("stages", raw.stages.is_some()),
        ("arrivals", raw.arrivals.is_some()),
        ("users", raw.users.is_some()),
        ("think_time", raw.think_time.is_some()),
        ("clients", raw.clients.is_some()),
        ("requests", raw.requests.is_some()),
        ("on_socket_error", raw.on_socket_error.is_some()),
    ];
    for (key, _) in given
        .into_iter()
        .filter(|(key, given)| *given && !keys(model).contains(key))
    {
        let owners = LoadKind::ALL
            .into_iter()
            .filter(|owner| keys(*owner).contains(&key))
            .map(LoadKind::name)
            .collect::<Vec<_>>()
            .join(" or ");
        let what = format!(
            "load.{key} belongs to load.model {owners}; this load is {}",
            model.name()
        );
        let expected = list(keys(model).iter().copied());
        checker.report(Finding::new(checker.key(&["load", key]), what).with_expected(expected));
    }
}

/// A key that the model requires.
fn require_key<T>(
    checker: &mut Checker<'_>,
    given: Option<T>,
    model: LoadKind,
    key: &str,
    example: &str,
) -> Option<T> {
    // A search sets the key that it maximizes.
    let is_searched = checker.is_invalid(&["search"]);
    if given.is_none() && !is_searched && !checker.is_invalid(&["load", key]) {
        let what = format!(
            "load lacks the key {key:?}, which load.model {} needs",
            model.name()
        );
        checker.report(Finding::new(checker.key(&["load", "model"]), what).with_expected(example));
    }
    given
}

fn closed_model(checker: &mut Checker<'_>, raw: &raw::Load) -> Option<LoadModel> {
    let connections = require_key(
        checker,
        raw.connections,
        LoadKind::Closed,
        "connections",
        "connections: 10",
    );
    let pipelining = checker.value_or_default(raw.pipelining, &["load", "pipelining"], 1)?;
    let connections = connections?;
    limit_in_flight(checker, connections, pipelining);
    Some(LoadModel::Closed {
        connections,
        pipelining,
    })
}

fn open(checker: &mut Checker<'_>, raw: &raw::Load) -> Option<LoadModel> {
    let rate = match &raw.stages {
        Some(stages) => highest(stages).map(raw::Rate),
        None if checker.is_invalid(&STAGES) => None,
        None => require_key(checker, raw.rate, LoadKind::Open, "rate", "rate: 1000/s"),
    };
    let arrivals =
        checker.value_or_default(raw.arrivals, &["load", "arrivals"], Arrivals::Poisson)?;
    let connections =
        checker.value_or_default(raw.connections, &["load", "connections"], OPEN_CONNECTIONS)?;
    let pipelining = checker.value_or_default(raw.pipelining, &["load", "pipelining"], 1)?;
    limit_in_flight(checker, connections, pipelining);
    let raw::Rate(rate_per_s) = rate?;
    if raw.stages.is_none() && !(rate_per_s > 0.0 && rate_per_s <= MAX_RATE_PER_S) {
        let what = format!("load.rate is {rate_per_s} per second");
        let expected = format!("more than 0 and at most {MAX_RATE_PER_S}");
        checker.report(
            Finding::new(checker.position_of(&["load", "rate"]), what).with_expected(expected),
        );
    }
    Some(LoadModel::Open {
        rate_per_s,
        arrivals,
        connections,
        pipelining,
    })
}

/// A level of users or connections.
pub(crate) fn whole_level(level: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the bounds after the clamp"
    )]
    let count = level.clamp(1.0, f64::from(MAX_CONNECTIONS)) as u32;
    count
}

fn limit_in_flight(checker: &mut Checker<'_>, connections: u32, pipelining: u32) {
    let total = u64::from(connections) * u64::from(pipelining);
    if total > MAX_IN_FLIGHT {
        let what = format!(
            "{connections} connections × {pipelining} pipelined are {total} requests in flight"
        );
        let expected = format!("at most {MAX_IN_FLIGHT}");
        checker.report(
            Finding::new(checker.position_of(&["load", "pipelining"]), what)
                .with_expected(expected),
        );
    }
}

fn users(checker: &mut Checker<'_>, raw: &raw::Load) -> Option<LoadModel> {
    let users = match &raw.stages {
        Some(stages) => raw.users.or_else(|| highest(stages).map(whole_level)),
        None if checker.is_invalid(&STAGES) => None,
        None => require_key(checker, raw.users, LoadKind::Users, "users", "users: 50"),
    };
    // A scenario has its own pauses; none is needed between two sessions.
    let none = raw::Think::Fixed(raw::DurationText(Duration::ZERO));
    let is_scenario = checker
        .root()
        .child("load")
        .is_some_and(|load| load.child("scenario").is_some());
    let think_time = match &raw.think_time {
        None if is_scenario && !checker.is_invalid(&["load", "think_time"]) => Some(&none),
        given => require_key(
            checker,
            given.as_ref(),
            LoadKind::Users,
            "think_time",
            "think_time: 1s",
        ),
    };
    let think_time = self::think_time(checker, think_time?, &["load", "think_time"]);
    Some(LoadModel::Users {
        users: users?,
        think_time: think_time?,
    })
}

fn clients(checker: &mut Checker<'_>, raw: &raw::Load) -> Option<LoadModel> {
    let model = LoadKind::Clients;
    let clients = require_key(checker, raw.clients, model, "clients", "clients: 5");
    let connections = require_key(
        checker,
        raw.connections,
        model,
        "connections",
        "connections: 100",
    );
    let requests = require_key(checker, raw.requests, model, "requests", "requests: 1000");
    let on_socket_error = checker.value_or_default(
        raw.on_socket_error,
        &["load", "on_socket_error"],
        OnSocketError::EndClient,
    )?;
    let (clients, connections, requests) = (clients?, connections?, requests?);
    let all = u64::from(clients) * u64::from(connections);
    if all > u64::from(MAX_CONNECTIONS) {
        let what = format!("{clients} clients × {connections} connections are {all}");
        let position = checker.position_of(&["load", "connections"]);
        let expected = format!("at most {MAX_CONNECTIONS} connections");
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    if requests < u64::from(connections) {
        let what =
            format!("load.requests is {requests} with {connections} connections of each client");
        let position = checker.position_of(&["load", "requests"]);
        checker.report(Finding::new(position, what).with_expected("at least as many requests"));
    }
    Some(LoadModel::Clients {
        clients,
        connections,
        requests,
        on_socket_error,
    })
}

/// Reports what a load of clients cannot have: sessions of a scenario, HTTP/2, and a level to search for.
pub(crate) fn refuse_with_clients(
    checker: &mut Checker<'_>,
    raw: &raw::Load,
    what: Option<&(What, String)>,
    has_search: bool,
) {
    if raw.model != Some(LoadKind::Clients) {
        return;
    }
    let refused = [
        (
            matches!(what, Some((What::Scenario(_), _))),
            &["load", "scenario"][..],
            "load.request",
        ),
        (
            raw.protocol == Some(Protocol::Http2),
            &["load", "protocol"],
            "http1",
        ),
        (has_search, &["search"], "load.model open, closed or users"),
    ];
    for (_, path, expected) in refused.into_iter().filter(|(is_given, ..)| *is_given) {
        let what = format!(
            "load.model clients cannot be combined with {}",
            path_text(path)
        );
        checker.report(Finding::new(checker.key(path), what).with_expected(expected));
    }
}

/// A pause; `path` is the path of its key.
pub(crate) fn think_time(
    checker: &mut Checker<'_>,
    raw: &raw::Think,
    path: &[&str],
) -> Option<Think> {
    let here = |key: &'static str| [path, &[key]].concat();
    let bounds = Bounds(Duration::ZERO, MAX_THINK);
    let random = match raw {
        raw::Think::Fixed(raw::DurationText(time)) => {
            return checker.check_bounds(*time, path, bounds).map(Think::Fixed);
        }
        raw::Think::Random(random) => random,
    };
    match (&random.exponential, random.uniform.as_deref()) {
        (Some(raw::DurationText(mean)), None) => checker
            .check_bounds(*mean, &here("exponential"), bounds)
            .map(Think::Exponential),
        (None, Some([raw::DurationText(from), raw::DurationText(to)])) => {
            let path = here("uniform");
            if from > to {
                let what = format!(
                    "{} runs from {} to {}",
                    path_text(&path),
                    format_duration(*from),
                    format_duration(*to)
                );
                checker.report(
                    Finding::new(checker.position_of(&path), what)
                        .with_expected("the shorter time first"),
                );
            }
            checker
                .check_bounds(*to, &path, bounds)
                .map(|to| Think::Uniform { from: *from, to })
        }
        (None, Some(_)) => None,
        (Some(_), Some(_)) => {
            let what = format!("{} is both exponential and uniform", path_text(path));
            checker.report(Finding::new(checker.key(path), what).with_expected("one of the two"));
            None
        }
        (None, None) => {
            if !checker.is_invalid(&here("exponential")) && !checker.is_invalid(&here("uniform")) {
                let what = format!("{} is empty", path_text(path));
                checker.report(
                    Finding::new(checker.key(path), what)
                        .with_expected("1s, { exponential: 1s } or { uniform: [1s, 3s] }"),
                );
            }
            None
        }
    }
}

/// The version of HTTP; sessions of a scenario go over HTTP/1.1 only.
pub(crate) fn protocol(
    checker: &mut Checker<'_>,
    load: &raw::Load,
    what: Option<&(What, String)>,
) -> Option<Protocol> {
    let path = ["load", "protocol"];
    match checker.value_or_default(load.protocol, &path, Protocol::Http1)? {
        Protocol::Http1 => Some(Protocol::Http1),
        Protocol::Http2 => {
            if matches!(what, Some((What::Scenario(_), _))) {
                let what = "load.protocol is http2, and a scenario goes over HTTP/1.1";
                checker
                    .report(Finding::new(checker.position_of(&path), what).with_expected("http1"));
            }
            Some(Protocol::Http2)
        }
    }
}

/// How long opening a connection may take.
pub(crate) fn connect_timeout(
    checker: &mut Checker<'_>,
    load: &raw::Load,
    what: Option<&(What, String)>,
) -> Option<Duration> {
    let path = ["load", "connect_timeout"];
    let given = load.connect_timeout.map(|raw::DurationText(time)| time);
    let default = match what {
        Some((What::Request(request), _)) if load.model == Some(LoadKind::Clients) => {
            request.timeout
        }
        _ => CONNECT_TIMEOUT,
    };
    let time = checker.value_or_default(given, &path, default)?;
    checker.check_bounds(time, &path, TIMEOUT_BOUNDS)
}

/// Limits on the heads of answers.
pub(crate) fn header_limits(checker: &mut Checker<'_>, load: &raw::Load) -> Option<HeaderLimits> {
    let default = HeaderLimits::default();
    let path = ["load", "max_header_size"];
    let given = load.max_header_size.map(|raw::Size(bytes)| bytes);
    let bytes = checker.value_or_default(given, &path, default.max_bytes)?;
    if let Err(Problem(expected)) = HeaderLimits::check_bytes(bytes) {
        let what = format!("load.max_header_size is {}", format_size(bytes));
        let position = checker.position_of(&path);
        checker.report(Finding::new(position, what).with_expected(expected));
        return None;
    }
    let path = ["load", "max_headers"];
    let max_fields = checker.value_or_default(load.max_headers, &path, default.max_fields)?;
    Some(HeaderLimits {
        max_bytes: bytes,
        max_fields,
    })
}

/// If the study does not keep connections alive, each request asks the server to close its connection.
pub(crate) fn apply_keep_alive(
    checker: &mut Checker<'_>,
    load: &raw::Load,
    what: Option<&mut (What, String)>,
) {
    if load.keep_alive != Some(false) {
        return;
    }
    let refused = match what {
        _ if load.pipelining.is_some_and(|requests| requests > 1) => "load.pipelining",
        _ if load.protocol == Some(Protocol::Http2) => "load.protocol: http2",
        Some((What::Scenario(_), _)) => "load.scenario",
        Some((What::Request(request), _)) => return close_connections(request),
        None => return,
    };
    refuse_closing(checker, refused, &Path::new(&["load", "keep_alive"]));
}

/// Makes each request ask the server to close its connection.
pub(super) fn close_connections(request: &mut Request) {
    let close = ("Connection".to_owned(), "close".to_owned());
    request.headers.push(close);
}

/// Reports that connections cannot be closed after each request; `path` is that of `keep_alive`.
pub(super) fn refuse_closing(checker: &mut Checker<'_>, refused: &str, path: &Path) {
    let what = format!(
        "{} is false, which cannot be combined with {refused}",
        path.to_text("")
    );
    let position = checker.key(&path.steps());
    checker.report(Finding::new(position, what).with_expected("one of the two"));
}

/// Reports pipelining of a scenario: a session sends a request only after the answer to the previous one.
pub(crate) fn refuse_pipelining(checker: &mut Checker<'_>, model: Option<&LoadModel>) {
    if let Some(LoadModel::Closed { pipelining, .. } | LoadModel::Open { pipelining, .. }) = model
        && *pipelining > 1
    {
        let what =
            format!("load.pipelining is {pipelining}, and a session sends one request at a time");
        let position = checker.position_of(&["load", "pipelining"]);
        checker.report(Finding::new(position, what).with_expected("pipelining: 1"));
    }
}
