//! The request of the load, and what it has in common with the steps of a scenario and with other requests of a file.

mod endpoint;
mod expect;
pub(crate) mod feeds;
mod inspect;
mod made_rows;
mod method;
mod records;
pub(crate) mod variables;

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{FeedOrder, LoadModel};
use waggle_template::variable::names;
use waggle_units::format_size;

pub use self::expect::MAX_BODY_TEXTS;
pub(crate) use self::{
    endpoint::endpoint,
    expect::{Expect, expect},
    method::{Called, Method},
};
use self::{
    feeds::{Feed, NamedFeed, feeds, into_feeds},
    inspect::{Inspect, inspect},
    records::{Records, records},
    variables::{Known, Named, Variables},
};
use crate::{
    Body, FeedRows, Texts,
    at::{At, Bounds, Key, Place},
    check::{Checker, OWN_HEADERS_BUT_HOST},
    mistake::Finding,
    raw::{DurationText, Name, Size},
    scenario::{RECORD_KEY, RECORD_TIME},
    tree::quote,
};

/// The request of the load. Its method is the key of its path: exactly one of get, put, post, head, delete, patch and options; or
/// `method` with `path`. Path, values of headers and `body` may have variables: {{feed.column}}, {{random.uuid}}, {{record.key}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Its name in thresholds and in the report.
    #[schemars(required)]
    pub name: Key<Name>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Key<String>,
    /// Header fields in addition to those that every request has.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// Header fields that waggle would write by itself and leaves out: the Content-Type of records.
    pub without_headers: Key<Vec<At<String>>>,
    /// Rows of values: each request takes one of each feed, in the order cycle or random (once and per_user are for scenarios).
    /// All requests are made before the load starts.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The body as it is sent.
    pub body: Key<String>,
    /// The file with the body as it is sent, relative to the study's folder.
    pub body_file: Key<String>,
    /// A body of this many random bytes, e.g. `10MB`; they follow from the study's seed, and every request has the same.
    pub body_random: Key<Size>,
    /// Records as the body.
    pub records: Key<Records>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Key<Expect>,
    /// Measures answers with a status of 2xx while they stream: time to the first byte, bytes of the body before and after
    /// decompression. `{}` is enough.
    pub inspect: Key<Inspect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Key<DurationText>,
}

/// Longest body.
pub const BODY_MAX_BYTES: u64 = 64 * 1024 * 1024;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// Response times are kept from 1 µs to 1 h.
pub(crate) const TIMEOUT_BOUNDS: Bounds =
    Bounds(Duration::from_millis(1), Duration::from_secs(3600));
/// Names that mean something else in the path of a metric.
pub(crate) const RESERVED_NAMES: [&str; 9] = [
    "delivery",
    "generator",
    "sessions",
    "components",
    "metrics",
    "faults",
    "prepare",
    "clients",
    "background",
];

/// The request of the load, with its name.
pub(crate) fn request(
    checker: &mut Checker<'_>,
    keys: &Request,
    model: Option<&LoadModel>,
) -> Option<crate::Request> {
    if let Some(name) = keys.name.content() {
        refuse_reserved(checker, name);
    }
    content(checker, keys, model)
}

/// Reports a name that means something else in the path of a metric.
pub(crate) fn refuse_reserved(checker: &mut Checker<'_>, At { place, value }: &At<Name>) {
    let Name(name) = value;
    if RESERVED_NAMES.contains(&name.as_str()) {
        let what = format!("is {name:?}, which has a meaning of its own in thresholds");
        checker.report(place.mistake(what).with_expected("another name"));
    }
}

/// A request whose name was checked.
pub(crate) fn content(
    checker: &mut Checker<'_>,
    keys: &Request,
    model: Option<&LoadModel>,
) -> Option<crate::Request> {
    let texts = texts(checker, keys);
    let called = keys.method.check_template(checker);
    refuse_two_bodies(checker, keys);
    let without = without_headers(checker, &keys.without_headers);
    let body = body(checker, keys, model);
    let method = called.as_ref().map(|called| called.method.as_str());
    let expect = expect(checker, &keys.expect, method);
    let inspect = inspect(checker, &keys.inspect, method);
    let timeout = (keys.timeout).check_bounds(TIMEOUT, TIMEOUT_BOUNDS, &mut checker.findings);
    let headers = checker.header_fields_except(OWN_HEADERS_BUT_HOST, &keys.headers);
    let Called { method, path } = called?;
    let Name(name) = keys.name.value()?;
    Some(crate::Request {
        name: name.clone(),
        method,
        path: path.value.clone(),
        headers,
        without_headers: without?,
        body: body?,
        texts: texts?,
        expect,
        inspect,
        timeout: timeout?,
        from_outside: Vec::new(),
    })
}

/// The values of header fields.
fn values(headers: &Key<IndexMap<String, At<String>>>) -> impl Iterator<Item = &At<String>> {
    headers.value().into_iter().flat_map(IndexMap::values)
}

/// How the request's texts are read, with its feeds if they have variables. Mistakes in the variables are reported.
fn texts(checker: &mut Checker<'_>, keys: &Request) -> Option<Texts> {
    let feeds = feeds(checker, &keys.feeds, None);
    refuse_orders(checker, &feeds);
    let mut variables = Variables::new(&feeds, Named::Nothing);
    let targets = keys.method.value.paths().into_iter();
    let targets = targets.map(|(_, text)| text);
    let mut is_template = !feeds.is_empty();
    let mut fine = true;
    for text in targets
        .chain(values(&keys.headers))
        .chain(keys.body.content())
    {
        is_template |= text.value.contains("{{");
        let fixed = variables.template(checker, text, &Known::default());
        fine &= fixed.is_some();
    }
    variables.refuse_unused(checker);
    refuse_stamps(checker, keys);
    let feeds = into_feeds(feeds).filter(|_| fine)?;
    Some(match is_template {
        true => Texts::Templates(feeds),
        false => Texts::Plain,
    })
}

/// Reports record variables of a request whose body is records: each record has its own key and time.
fn refuse_stamps(checker: &mut Checker<'_>, keys: &Request) {
    let Some(records) = keys.records.place() else {
        return;
    };
    let targets = keys.method.value.paths().into_iter();
    let targets = targets.map(|(_, text)| text);
    let texts: Vec<_> = values(&keys.headers).chain(targets).collect();
    for stamp in [RECORD_KEY, RECORD_TIME] {
        if texts.iter().any(|text| names(&text.value, stamp)) {
            let what = format!(
                "{{{{{stamp}}}}} is of a request that is a record, and this one carries {}",
                records.path
            );
            checker.report(Finding::new(records.key, what).with_expected("one of the two"));
        }
    }
}

/// Reports kept rows and the orders that need sessions. Requests are made before the load starts and then sent in turn, so it is not known
/// which user sends which request, or when all were sent.
fn refuse_orders(checker: &mut Checker<'_>, feeds: &[NamedFeed<'_>]) {
    for feed in feeds {
        if let Some(FeedRows::Kept(_)) = feed.rows {
            let key = feed.keys.captured_by.place();
            let mistake = key.map(|place| place.key_mistake("is for a scenario"));
            let mistake = mistake.map(|mistake| mistake.with_expected("file, rows or generate"));
            checker.findings.extend(mistake);
        }
        let order = match feed.order {
            Some(FeedOrder::Once) => "once",
            Some(FeedOrder::Zipf { .. }) => "zipf",
            Some(FeedOrder::Recent { .. }) => "recent",
            Some(FeedOrder::PerUser) => "per_user",
            Some(FeedOrder::Cycle | FeedOrder::Random) | None => continue,
        };
        if let Some(place) = feed.keys.order.place() {
            let mistake = place.mistake(format!("is {order}, which is for a scenario"));
            checker.report(mistake.with_expected("cycle or random"));
        }
    }
}

/// The places of the keys that give the request a body, each with its name.
fn bodies(keys: &Request) -> Vec<(&'static str, &Place)> {
    let bodies = [
        ("body", keys.body.place()),
        ("body_file", keys.body_file.place()),
        ("body_random", keys.body_random.place()),
        ("records", keys.records.place()),
    ];
    let bodies = bodies.into_iter();
    bodies
        .filter_map(|(key, place)| Some((key, place?)))
        .collect()
}

fn refuse_two_bodies(checker: &mut Checker<'_>, keys: &Request) {
    if let [(first, _), .., (last, place)] = bodies(keys)[..] {
        let what = format!("has both {first} and {last}");
        let mistake = keys.method.place.mistake_in(place.key, what);
        checker.report(mistake.with_expected("one of the two"));
    }
}

fn body(checker: &mut Checker<'_>, keys: &Request, model: Option<&LoadModel>) -> Option<Body> {
    if let Some(given) = keys.records.content() {
        let records = records(checker, given, model);
        return records.map(Box::new).map(Body::Records);
    }
    if let Some(text) = keys.body.value() {
        return Some(Body::Text(text.clone()));
    }
    if let Some(file) = keys.body_file.value() {
        return Some(Body::File(file.clone()));
    }
    if let Some(size) = keys.body_random.content() {
        return random_body(checker, size);
    }
    let is_invalid = keys.records.is_invalid()
        || keys.body.is_invalid()
        || keys.body_file.is_invalid()
        || keys.body_random.is_invalid();
    (!is_invalid).then_some(Body::None)
}

/// Header fields that waggle would write itself and leaves out.
fn without_headers(checker: &mut Checker<'_>, given: &Key<Vec<At<String>>>) -> Option<Vec<String>> {
    let mut fine = true;
    let names = given.value().into_iter().flatten();
    for At { place, value: name } in names.clone() {
        if !name.eq_ignore_ascii_case("content-type") {
            let what = format!("{} is no header that can be left out", quote(name));
            let expected = "Content-Type, which requests with records have";
            checker.report(Finding::new(place.value, what).with_expected(expected));
            fine = false;
        }
    }
    fine.then(|| names.map(|name| name.value.clone()).collect())
}

fn random_body(checker: &mut Checker<'_>, At { place, value }: &At<Size>) -> Option<Body> {
    let Size(bytes) = *value;
    if (1..=BODY_MAX_BYTES).contains(&bytes) {
        return Some(Body::Random(bytes));
    }
    let mistake = place.mistake(format!("is {}", format_size(bytes)));
    let expected = format!("a size from 1B to {}", format_size(BODY_MAX_BYTES));
    checker.report(mistake.with_expected(expected));
    None
}
