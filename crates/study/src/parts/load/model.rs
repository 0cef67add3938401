//! The load model and its keys.

use std::time::Duration;

use waggle_spec::{Arrivals, LoadKind, LoadModel, OnSocketError, Protocol};

use super::{
    Load,
    bounds::{MAX_CONNECTIONS, MAX_IN_FLIGHT, MAX_RATE_PER_S, OPEN_CONNECTIONS, whole_level},
    stages::highest,
    think_time::think_time,
};
use crate::{
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    nearest::list,
};

/// The model with its numbers; the keys that belong to another model are mistakes.
pub(crate) fn load_model(checker: &mut Checker<'_>, keys: &Load) -> Option<LoadModel> {
    let model = keys.model.content()?;
    refuse_foreign_keys(checker, keys, model.value);
    match model.value {
        LoadKind::Closed => closed_model(checker, keys, model),
        LoadKind::Open => open_model(checker, keys, model),
        LoadKind::Users => users_model(checker, keys, model),
        LoadKind::Clients => clients_model(checker, keys, model),
    }
}

/// A key of some models, and where it is given.
struct ModelKey<'k> {
    name: &'static str,
    place: Option<&'k Place>,
    models: &'static [LoadKind],
}

/// The keys that belong to models, in the order of messages.
fn model_keys(keys: &Load) -> [ModelKey<'_>; 10] {
    use LoadKind::{Clients, Closed, Open, Users};
    let key = |name, place, models| ModelKey {
        name,
        place,
        models,
    };
    [
        key("rate", keys.rate.place(), &[Open]),
        key("users", keys.users.place(), &[Users]),
        key("clients", keys.clients.place(), &[Clients]),
        key("stages", keys.stages.place(), &[Open, Users]),
        key("arrivals", keys.arrivals.place(), &[Open]),
        key("think_time", keys.think_time.place(), &[Users]),
        key(
            "connections",
            keys.connections.place(),
            &[Closed, Open, Clients],
        ),
        key("pipelining", keys.pipelining.place(), &[Closed, Open]),
        key("requests", keys.requests.place(), &[Clients]),
        key("on_socket_error", keys.on_socket_error.place(), &[Clients]),
    ]
}

fn refuse_foreign_keys(checker: &mut Checker<'_>, keys: &Load, model: LoadKind) {
    let all = model_keys(keys);
    let (allowed, foreign): (Vec<_>, Vec<_>) =
        all.iter().partition(|key| key.models.contains(&model));
    for key in foreign {
        let Some(place) = key.place else { continue };
        let owners: Vec<&str> = key.models.iter().map(|owner| owner.name()).collect();
        let owners = owners.join(" or ");
        let model_name = model.name();
        let why = format!("belongs to load.model {owners}; this load is {model_name}");
        let expected = list(allowed.iter().map(|key| key.name));
        checker.report(place.key_mistake(why).with_expected(expected));
    }
}

/// A key that the model requires.
fn require_key<'k, T>(
    checker: &mut Checker<'_>,
    model: &At<LoadKind>,
    given: &'k Key<T>,
    key: &str,
    example: &str,
) -> Option<&'k At<T>> {
    if matches!(given, Key::Missing) {
        let name = model.value.name();
        let what = format!("load lacks the key {key:?}, which load.model {name} needs");
        checker.report(Finding::new(model.place.key, what).with_expected(example));
    }
    given.content()
}

fn closed_model(checker: &mut Checker<'_>, keys: &Load, model: &At<LoadKind>) -> Option<LoadModel> {
    let example = "connections: 10";
    let connections = require_key(checker, model, &keys.connections, "connections", example);
    let pipelining = keys.pipelining.or_default(1)?;
    let connections = connections?.value;
    limit_in_flight(checker, connections, keys.pipelining.content());
    Some(LoadModel::Closed {
        connections,
        pipelining,
    })
}

fn open_model(checker: &mut Checker<'_>, keys: &Load, model: &At<LoadKind>) -> Option<LoadModel> {
    let rate = match &keys.stages {
        Key::Given(stages) => highest(&stages.value),
        Key::Invalid => None,
        Key::Missing => {
            let rate = require_key(checker, model, &keys.rate, "rate", "rate: 1000/s");
            rate.map(|At { place, value }| {
                check_rate(checker, place, value.0);
                value.0
            })
        }
    };
    let arrivals = keys.arrivals.or_default(Arrivals::Poisson)?;
    let connections = keys.connections.or_default(OPEN_CONNECTIONS)?;
    let pipelining = keys.pipelining.or_default(1)?;
    limit_in_flight(checker, connections, keys.pipelining.content());
    Some(LoadModel::Open {
        rate_per_s: rate?,
        arrivals,
        connections,
        pipelining,
    })
}

/// Reports a rate that a load cannot have.
pub(crate) fn check_rate(checker: &mut Checker<'_>, place: &Place, rate_per_s: f64) {
    if !(rate_per_s > 0.0 && rate_per_s <= MAX_RATE_PER_S) {
        let mistake = place.mistake(format!("is {rate_per_s} per second"));
        checker.report(mistake.with_expected(format!("more than 0 and at most {MAX_RATE_PER_S}")));
    }
}

fn limit_in_flight(checker: &mut Checker<'_>, connections: u32, pipelining: Option<&At<u32>>) {
    let Some(At { place, value }) = pipelining else {
        return;
    };
    let total = u64::from(connections) * u64::from(*value);
    if total > MAX_IN_FLIGHT {
        let what =
            format!("{connections} connections × {value} pipelined are {total} requests in flight");
        let expected = format!("at most {MAX_IN_FLIGHT}");
        checker.report(Finding::new(place.value, what).with_expected(expected));
    }
}

fn users_model(checker: &mut Checker<'_>, keys: &Load, model: &At<LoadKind>) -> Option<LoadModel> {
    let given = keys.users.value().copied();
    let users = match &keys.stages {
        Key::Given(stages) => given.or_else(|| highest(&stages.value).map(whole_level)),
        Key::Invalid => None,
        Key::Missing => {
            let users = require_key(checker, model, &keys.users, "users", "users: 50");
            users.map(|users| users.value)
        }
    };
    // A scenario has its own pauses; none is needed between two sessions.
    let has_pauses = !matches!(keys.scenario, Key::Missing);
    let think_time = match &keys.think_time {
        Key::Missing if has_pauses => Some(waggle_spec::Think::Fixed(Duration::ZERO)),
        given => {
            let given = require_key(checker, model, given, "think_time", "think_time: 1s");
            think_time(checker, given?)
        }
    };
    Some(LoadModel::Users {
        users: users?,
        think_time: think_time?,
    })
}

fn clients_model(
    checker: &mut Checker<'_>,
    keys: &Load,
    model: &At<LoadKind>,
) -> Option<LoadModel> {
    let clients = require_key(checker, model, &keys.clients, "clients", "clients: 5");
    let example = "connections: 100";
    let connections = require_key(checker, model, &keys.connections, "connections", example);
    let requests = require_key(checker, model, &keys.requests, "requests", "requests: 1000");
    let on_socket_error = keys.on_socket_error.or_default(OnSocketError::EndClient)?;
    let (clients, connections, requests) = (clients?.value, connections?, requests?);
    let all = u64::from(clients) * u64::from(connections.value);
    if all > u64::from(MAX_CONNECTIONS) {
        let what = format!(
            "{clients} clients × {} connections are {all}",
            connections.value
        );
        let expected = format!("at most {MAX_CONNECTIONS} connections");
        checker.report(Finding::new(connections.place.value, what).with_expected(expected));
    }
    let At {
        place,
        value: requests,
    } = requests;
    let connections = connections.value;
    if *requests < u64::from(connections) {
        let what = format!("is {requests} with {connections} connections of each client");
        checker.report(
            place
                .mistake(what)
                .with_expected("at least as many requests"),
        );
    }
    Some(LoadModel::Clients {
        clients,
        connections,
        requests: *requests,
        on_socket_error,
    })
}

/// Reports what a load of clients cannot have: sessions of the `scenario` that is sent, a protocol that may be HTTP/2, and a level to search for.
pub(crate) fn refuse_with_clients(
    checker: &mut Checker<'_>,
    keys: &Load,
    scenario: Option<&Place>,
    search: Option<&Place>,
) {
    if keys.model.value() != Some(&LoadKind::Clients) {
        return;
    }
    let protocol = keys.protocol.content();
    let protocol = protocol.filter(|protocol| protocol.value != Protocol::Http1);
    let refused = [
        (scenario, "load.request"),
        (protocol.map(|protocol| &protocol.place), "http1"),
        (search, "load.model open, closed or users"),
    ];
    for (place, expected) in refused {
        if let Some(place) = place {
            let what = format!("load.model clients cannot be combined with {}", place.path);
            checker.report(Finding::new(place.key, what).with_expected(expected));
        }
    }
}

/// Reports pipelining of a scenario over HTTP/1.1: there a connection has one session, which sends a request only after the answer to
/// the previous one. Over HTTP/2 each stream of a connection has a session. `is_encrypted` is `None` if the endpoint has a mistake.
pub(crate) fn refuse_pipelining(
    checker: &mut Checker<'_>,
    keys: &Load,
    model: Option<&LoadModel>,
    is_encrypted: Option<bool>,
) {
    let Some(protocol) = keys.protocol.or_default(Protocol::Http1) else {
        return;
    };
    let why = match (protocol, is_encrypted) {
        (Protocol::Http2, _) | (Protocol::Auto, Some(true) | None) => return,
        (Protocol::Auto, Some(false)) => "without TLS load.protocol auto is HTTP/1.1, where ",
        (Protocol::Http1, _) => "over HTTP/1.1 ",
    };
    if let Some(
        LoadModel::Closed {
            pipelining: requests,
            ..
        }
        | LoadModel::Open {
            pipelining: requests,
            ..
        },
    ) = model
        && *requests > 1
        && let Some(place) = keys.pipelining.place()
    {
        let why = format!(
            "is {requests}, and {why}a connection has one session, which sends one request at a time"
        );
        let expected = "pipelining: 1, or protocol: http2, which has as many sessions at once on each connection";
        checker.report(place.mistake(why).with_expected(expected));
    }
}
