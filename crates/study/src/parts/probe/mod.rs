//! A probe of a system: of which kind it is, and whether it has the keys of that kind.

mod extract;
mod query;
mod watch;

use schemars::JsonSchema;
use serde::Deserialize;

use self::{
    extract::{Extract, extract},
    query::{Query, query},
    watch::{Watch, watch},
};
use super::texts::{check_json_path, refuse_key, refuse_unknown_names, require_key, single_kind};
use crate::{
    ProbeKind,
    at::{At, Key},
    check::Checker,
    raw::Conditions,
};

/// Watches a store in which records arrive, one record a line: exactly one of tail, query, kafka and watch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    /// In which configurations it exists; in all in which its component does, by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// One of the components.
    #[schemars(required)]
    pub component: Key<String>,
    /// One of its ports.
    #[schemars(required)]
    pub port: Key<String>,
    /// Other components that hold the data which it shows: after a kill of one of them it is read from its beginning, as after a
    /// kill of its own component; none by default.
    pub backed_by: Key<Vec<At<String>>>,
    /// Text over HTTP that is read by offset.
    pub tail: Key<Tail>,
    /// Text over HTTP that is read by the records' times: what may still change is asked for again.
    pub query: Key<Query>,
    /// Every message of a topic; its value is one or several lines.
    pub kafka: Key<KafkaTopic>,
    /// Documents of JSON over HTTP, one a line, in an answer that goes on as changes are made.
    pub watch: Key<Watch>,
    /// How the parts of a record are extracted from its line: key, run and time, and with tail its offset.
    #[schemars(required)]
    pub extract: Key<Extract>,
    /// Records read at once; with query about as many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Key<u32>,
}

/// Text over HTTP that is read by offset, one record a line; or with `items` a JSON document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tail {
    /// Path and query of a GET request; `${offset}` and `${limit}` are replaced at each poll.
    #[schemars(required)]
    pub get: Key<String>,
    /// The answer is a JSON document, and this is the JSONPath of the array in it: each element is a record, `${offset}` is the
    /// number of elements before it. Elements may come later before others that are there.
    pub items: Key<String>,
}

/// A topic of Kafka.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KafkaTopic {
    /// Its name.
    #[schemars(required)]
    pub topic: Key<String>,
}

const LIMIT: &str = "a whole number from 1 to 1000000";
const LIMIT_OF_ITEMS: &str = "a whole number from 2 to 1000000";

/// The kind of a probe, and how the parts of a record are extracted; `parameters` are those of the system, which can be
/// put into its texts.
pub(crate) fn probe(
    checker: &mut Checker<'_>,
    given: &At<Probe>,
    parameters: &[String],
) -> Option<(ProbeKind, crate::Extract)> {
    let At { place, value: keys } = given;
    let kinds = [
        ("tail", keys.tail.is_some()),
        ("query", keys.query.is_some()),
        ("kafka", keys.kafka.is_some()),
        ("watch", keys.watch.is_some()),
    ];
    let is_invalid = keys.tail.is_invalid()
        || keys.query.is_invalid()
        || keys.kafka.is_invalid()
        || keys.watch.is_invalid();
    let kind = single_kind(checker, place, &kinds, is_invalid)?;
    let has_items = keys.tail.value().is_some_and(|tail| tail.items.is_some());
    let layout = match (kind, has_items) {
        ("tail", true) => "tail.items",
        _ => kind,
    };
    let extracted = keys.extract.content();
    let extracted = extracted.and_then(|given| extract(checker, given, layout));
    let kind = match kind {
        "tail" => tail(checker, given, parameters),
        "query" => {
            let limit = require_key(checker, place, &keys.limit, "limit", LIMIT);
            query(checker, keys.query.content()?, parameters)
                .zip(limit)
                .map(|(query, limit)| ProbeKind::Query {
                    query,
                    limit: limit.value,
                })
        }
        "watch" => {
            refuse_key(checker, &keys.limit, "watch");
            let watch = watch(checker, keys.watch.content()?, parameters);
            watch.map(|watch| ProbeKind::Watch(Box::new(watch)))
        }
        _ => kafka(checker, keys, parameters),
    };
    kind.zip(extracted)
}

fn tail(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Probe>,
    parameters: &[String],
) -> Option<ProbeKind> {
    let tail = keys.tail.value()?;
    let get = tail.get.content();
    if let Some(get) = get {
        for needed in ["${offset}", "${limit}"] {
            if !get.value.contains(needed) {
                let mistake = get.place.mistake(format!("lacks {needed}"));
                checker.report(mistake.with_expected("a path with ${offset} and ${limit}"));
            }
        }
        refuse_unknown_names(checker, get, parameters, &["offset", "limit"]);
        checker.target_of(get, &get.value);
    }
    let limit = require_key(checker, place, &keys.limit, "limit", LIMIT);
    if let Some(items) = tail.items.content() {
        return tail_of_items(checker, get, items, limit);
    }
    let extract = keys.extract.value()?;
    let arrival = extract.arrival.value();
    Some(ProbeKind::Tail {
        get: get?.value.clone(),
        offset_after: extract.offset.value()?.after.value()?.clone(),
        arrival_after: arrival.and_then(|arrival| arrival.after.value().cloned()),
        limit: limit?.value,
    })
}

/// A tail whose answers are JSON documents.
fn tail_of_items(
    checker: &mut Checker<'_>,
    get: Option<&At<String>>,
    items: &At<String>,
    limit: Option<&At<u32>>,
) -> Option<ProbeKind> {
    let expected = "the JSONPath of an array, such as $.versions";
    check_json_path(checker, &items.place, &items.value, expected)?;
    // Each page repeats the last element of the one before.
    if let Some(At { place, value: 1 }) = limit {
        checker.report(place.mistake("is 1").with_expected(LIMIT_OF_ITEMS));
    }
    Some(ProbeKind::Items {
        get: get?.value.clone(),
        items: items.value.clone(),
        limit: limit?.value,
    })
}

fn kafka(checker: &mut Checker<'_>, keys: &Probe, parameters: &[String]) -> Option<ProbeKind> {
    refuse_key(checker, &keys.limit, "kafka");
    let topic = keys.kafka.value()?.topic.content()?;
    refuse_unknown_names(checker, topic, parameters, &[]);
    Some(ProbeKind::Kafka {
        topic: topic.value.clone(),
    })
}
