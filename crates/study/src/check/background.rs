//! Loads that run beside the measured one.

use waggle_spec::{Arrivals, LoadModel, Protocol};

use super::{
    Around, Checker,
    path::Path,
    request::{content, endpoint, refuse_reserved},
};
use crate::{
    BackgroundLoad, Request, System,
    mistake::Finding,
    parts::load::{MAX_RATE_PER_S, OPEN_CONNECTIONS, close_connections, refuse_closing},
    raw,
};

const PATH: [&str; 1] = ["background"];

/// The background loads of a cell in their order, also those that are absent in it.
pub(crate) fn background(
    checker: &mut Checker<'_>,
    raw: Option<Vec<raw::Background>>,
    system: Option<&System>,
    protocol: Option<Protocol>,
) -> Option<Vec<BackgroundLoad>> {
    let Some(raw) = raw else {
        return checker.value_or_default(None, &PATH, Vec::new());
    };
    let mut names: Vec<String> = Vec::new();
    let mut loads = Vec::new();
    for (index, raw) in raw.into_iter().enumerate() {
        let path = Path::new(&PATH).entry(index);
        if let Some(raw::Name(name)) = &raw.name {
            let here = path.child("name");
            refuse_reserved(checker, name, &here);
            if names.contains(name) {
                let what = format!("there are two background loads {name:?}");
                let position = checker.position_of(&here.steps());
                checker.report(Finding::new(position, what).with_expected("each name once"));
            }
            names.push(name.clone());
        }
        loads.push(load(checker, raw, system, protocol, &path));
    }
    loads.into_iter().collect()
}

fn load(
    checker: &mut Checker<'_>,
    raw: raw::Background,
    system: Option<&System>,
    protocol: Option<Protocol>,
    path: &Path,
) -> Option<BackgroundLoad> {
    let model = model(checker, &raw, path);
    let endpoint = endpoint(checker, raw.endpoint.as_deref(), system, &path.steps());
    let here = path.child("request");
    let here = here.steps();
    let around = Around {
        path: &here,
        model: None,
    };
    let closes = raw.keep_alive == Some(false);
    let request = raw.request?.into_request(raw.name);
    let mut request = content(checker, request, around);
    if let Some(request) = &request {
        refuse_records(checker, request, path);
    }
    match (protocol, &mut request) {
        (Some(Protocol::Http2), _) if closes => {
            let place = checker.place(&path.child("keep_alive").steps());
            refuse_closing(checker, "load.protocol: http2", &place);
        }
        (_, Some(request)) if closes => close_connections(request),
        _ => {}
    }
    Some(BackgroundLoad {
        request: request?,
        endpoint: endpoint?,
        model: model?,
    })
}

/// The model by its one key; `None` within: the load is absent in this cell.
fn model(
    checker: &mut Checker<'_>,
    raw: &raw::Background,
    path: &Path,
) -> Option<Option<LoadModel>> {
    let is_invalid = |key| checker.is_invalid(&path.child(key).steps());
    let expected = "connections: how many send one request after the other, or rate: such as 2/s";
    let rate = raw.rate.as_ref().map(|raw::Rate(per_s)| *per_s);
    match (raw.connections, rate) {
        _ if is_invalid("connections") || is_invalid("rate") => None,
        (Some(_), Some(_)) => {
            let what = format!("{} has both connections and rate", path.to_text(""));
            let position = checker.key(&path.child("rate").steps());
            checker.report(Finding::new(position, what).with_expected("one of the two"));
            None
        }
        (None, None) => {
            let what = format!("{} does not say how much is sent", path.to_text(""));
            let position = checker.position_of(&path.steps());
            checker.report(Finding::new(position, what).with_expected(expected));
            None
        }
        (Some(connections), None) => Some((connections > 0).then_some(LoadModel::Closed {
            connections,
            pipelining: 1,
        })),
        (None, Some(rate_per_s)) if (0.0..=MAX_RATE_PER_S).contains(&rate_per_s) => {
            Some((rate_per_s > 0.0).then_some(LoadModel::Open {
                rate_per_s,
                arrivals: Arrivals::Uniform,
                connections: OPEN_CONNECTIONS,
                pipelining: 1,
            }))
        }
        (None, Some(rate_per_s)) => {
            let here = path.child("rate");
            let what = format!("{} is {rate_per_s} per second", here.to_text(""));
            let position = checker.position_of(&here.steps());
            let expected = format!("at least 0 and at most {MAX_RATE_PER_S}");
            checker.report(Finding::new(position, what).with_expected(expected));
            None
        }
    }
}

/// Reports a request that is a record: records are followed under the measured load alone.
fn refuse_records(checker: &mut Checker<'_>, request: &Request, path: &Path) {
    if request.records() > 0 {
        let what = format!("{} has a request with {{{{record.key}}}}", path.to_text(""));
        let position = checker.key(&path.child("request").steps());
        let expected = "a column of a feed or {{random.uuid}}: records belong to the measured load";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
}
