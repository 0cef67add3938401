//! Loads that run beside the measured one.

use waggle_spec::{Arrivals, LoadModel};

use super::Checker;
use crate::{
    BackgroundLoad, System,
    at::{At, Key, Place},
    mistake::Finding,
    parts::{
        load::{MAX_RATE_PER_S, OPEN_CONNECTIONS, close_connections},
        request::{content, endpoint, refuse_reserved},
    },
    raw,
};

/// The background loads of a cell in their order, also those that are absent in it. They are taken out of `given`.
pub(crate) fn background(
    checker: &mut Checker<'_>,
    given: &mut Key<Vec<At<raw::Background>>>,
    system: Option<&System>,
) -> Option<Vec<BackgroundLoad>> {
    let Some(At { value: given, .. }) = given.take() else {
        return (!given.is_invalid()).then(Vec::new);
    };
    let mut names: Vec<String> = Vec::new();
    let mut loads = Vec::new();
    for load in given {
        if let Some(name) = load.value.name.content() {
            refuse_reserved(checker, name);
            let raw::Name(text) = &name.value;
            if names.contains(text) {
                let what = format!("there are two background loads {text:?}");
                let finding = Finding::new(name.place.value, what);
                checker.report(finding.with_expected("each name once"));
            }
            names.push(text.clone());
        }
        loads.push(check_load(checker, load, system));
    }
    loads.into_iter().collect()
}

fn check_load(
    checker: &mut Checker<'_>,
    given: At<raw::Background>,
    system: Option<&System>,
) -> Option<BackgroundLoad> {
    let model = model(checker, &given);
    let At { place, value: keys } = given;
    let endpoint = endpoint(checker, &keys.endpoint, &place, system);
    let mut request = keys.request;
    let At {
        place: key,
        value: request,
    } = request.take()?;
    let request = request.into_request(keys.name);
    let mut request = content(checker, &request, None);
    if request
        .as_ref()
        .is_some_and(|request| request.records() > 0)
    {
        refuse_records(checker, &place, &key);
    }
    let closes = keys.keep_alive.content().filter(|given| !given.value);
    if let (Some(_), Some(request)) = (closes, &mut request) {
        close_connections(request);
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
    At { place, value: keys }: &At<raw::Background>,
) -> Option<Option<LoadModel>> {
    let (mistake, expected) = match (keys.connections.content(), keys.rate.content()) {
        _ if keys.connections.is_invalid() || keys.rate.is_invalid() => return None,
        (Some(_), Some(rate)) => (
            place.mistake_in(rate.place.key, "has both connections and rate"),
            "one of the two".to_owned(),
        ),
        (None, None) => (
            place.mistake("does not say how much is sent"),
            "connections: how many send one request after the other, or rate: such as 2/s"
                .to_owned(),
        ),
        (Some(connections), None) => {
            let connections = connections.value;
            return Some((connections > 0).then_some(LoadModel::Closed {
                connections,
                pipelining: 1,
            }));
        }
        (None, Some(At { place, value })) => {
            let raw::Rate(rate_per_s) = *value;
            if (0.0..=MAX_RATE_PER_S).contains(&rate_per_s) {
                return Some((rate_per_s > 0.0).then_some(LoadModel::Open {
                    rate_per_s,
                    arrivals: Arrivals::Uniform,
                    connections: OPEN_CONNECTIONS,
                    pipelining: 1,
                }));
            }
            (
                place.mistake(format!("is {rate_per_s} per second")),
                format!("at least 0 and at most {MAX_RATE_PER_S}"),
            )
        }
    };
    checker.report(mistake.with_expected(expected));
    None
}

/// Reports a request that is a record: records are followed under the measured load alone.
fn refuse_records(checker: &mut Checker<'_>, load: &Place, request: &Place) {
    let mistake = load.mistake_in(request.key, "has a request with {{record.key}}");
    let expected = "a column of a feed or {{random.uuid}}: records belong to the measured load";
    checker.report(mistake.with_expected(expected));
}
