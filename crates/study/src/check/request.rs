//! The request of the load.

use std::time::Duration;

use waggle_spec::FeedOrder;
use waggle_template::variable::names;
use waggle_units::format_size;

use super::{
    Around, Checker, OWN_HEADERS_BUT_HOST,
    expect::expect,
    inspect::inspect,
    path::Path,
    path_text,
    records::records,
    variables::{Known, Named, Variables, Written},
};
use crate::{
    Body, Endpoint, FeedRows, Request, System, Texts,
    at::Bounds,
    mistake::Finding,
    nearest::{list, nearest_word},
    parts::request::feeds::{NamedFeed, feeds, into_feeds},
    raw,
    scenario::{RECORD_KEY, RECORD_TIME},
    tree::quote,
};

/// The keys that give a request a body.
const BODIES: [&str; 4] = ["body", "body_file", "body_random", "records"];
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
    raw: raw::Request,
    around: Around<'_>,
) -> Option<Request> {
    if let Some(raw::Name(name)) = &raw.name {
        refuse_reserved(checker, name, &Path::new(around.path).child("name"));
    }
    content(checker, raw, around)
}

/// Reports a name that means something else in the path of a metric.
pub(crate) fn refuse_reserved(checker: &mut Checker<'_>, name: &str, path: &Path) {
    if RESERVED_NAMES.contains(&name) {
        let what = format!(
            "{} is {name:?}, which has a meaning of its own in thresholds",
            path.to_text("")
        );
        let position = checker.position_of(&path.steps());
        checker.report(Finding::new(position, what).with_expected("another name"));
    }
}

/// A request whose name was checked.
pub(crate) fn content(
    checker: &mut Checker<'_>,
    mut raw: raw::Request,
    around: Around<'_>,
) -> Option<Request> {
    let path = Path::new(around.path);
    let key = |key: &str| path.child(key);
    let texts = texts(checker, &raw, &path);
    let method = checker.method_and_template(&raw.method, around.path);
    refuse_two_bodies(checker, &raw);
    let without = without_headers(checker, raw.without_headers.take());
    let is_invalid = BODIES
        .iter()
        .any(|body| checker.is_invalid(&key(body).steps()));
    let body = match (raw.records, raw.body, raw.body_file, raw.body_random) {
        (Some(given), ..) => records(checker, given, around.model)
            .map(Box::new)
            .map(Body::Records),
        (None, Some(text), ..) => Some(Body::Text(text)),
        (None, None, Some(file), _) => Some(Body::File(file)),
        (None, None, None, Some(raw::Size(bytes))) => random_body(checker, bytes),
        (None, None, None, None) => (!is_invalid).then_some(Body::None),
    };
    let method_name = method.as_ref().map(|called| called.method.as_str());
    let expect = expect(checker, raw.expect, method_name, &key("expect").steps());
    let inspect = inspect(checker, raw.inspect, method_name, &key("inspect").steps());
    let timeout = checker.value_or_default(
        raw.timeout.map(|raw::DurationText(time)| time),
        &key("timeout").steps(),
        TIMEOUT,
    )?;
    let timeout = checker.check_bounds(timeout, &key("timeout").steps(), TIMEOUT_BOUNDS);
    let headers =
        checker.headers_except(OWN_HEADERS_BUT_HOST, raw.headers, &key("headers").steps());
    let called = method?;
    let raw::Name(name) = raw.name?;
    Some(Request {
        name,
        method: called.method,
        path: called.path,
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

/// How the request's texts are read, with its feeds if they have variables. Mistakes in the variables are reported.
fn texts(checker: &mut Checker<'_>, raw: &raw::Request, path: &Path) -> Option<Texts> {
    let feeds = feeds(checker, &raw.feeds, None);
    refuse_orders(checker, &feeds);
    let mut variables = Variables::new(&feeds, Named::Nothing);
    let targets = raw.method.paths().into_iter();
    let targets = targets.map(|(key, text)| (path.child(key), text));
    let headers = raw.headers.iter().flatten();
    let headers = headers.map(|(name, value)| (path.child("headers").child(name), value));
    let body = raw.body.iter().map(|text| (path.child("body"), text));
    let mut is_template = !feeds.is_empty();
    let mut fine = true;
    for (here, text) in targets.chain(headers).chain(body) {
        is_template |= text.contains("{{");
        let written = Written { text, path: &here };
        let fixed = variables.template(checker, written, &Known::default());
        fine &= fixed.is_some();
    }
    variables.refuse_unused(checker);
    refuse_stamps(checker, raw);
    let feeds = into_feeds(feeds).filter(|_| fine)?;
    Some(match is_template {
        true => Texts::Templates(feeds),
        false => Texts::Plain,
    })
}

/// Reports record variables of a request whose body is records: each record has its own key and time.
fn refuse_stamps(checker: &mut Checker<'_>, raw: &raw::Request) {
    if raw.records.is_none() {
        return;
    }
    let headers = raw.headers.iter().flatten().map(|(_, value)| value);
    let targets = raw.method.paths().into_iter().map(|(_, text)| text);
    let texts: Vec<&String> = headers.chain(targets).collect();
    for stamp in [RECORD_KEY, RECORD_TIME] {
        if texts.iter().any(|text| names(text, stamp)) {
            let what = format!(
                "{{{{{stamp}}}}} is of a request that is a record, and this one carries load.request.records"
            );
            let position = checker.key(&["load", "request", "records"]);
            checker.report(Finding::new(position, what).with_expected("one of the two"));
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

fn refuse_two_bodies(checker: &mut Checker<'_>, raw: &raw::Request) {
    let given = [
        raw.body.is_some(),
        raw.body_file.is_some(),
        raw.body_random.is_some(),
        raw.records.is_some(),
    ];
    let given: Vec<&str> = BODIES
        .into_iter()
        .zip(given)
        .filter_map(|(key, given)| given.then_some(key))
        .collect();
    if let [first, .., last] = given[..] {
        let what = format!("load.request has both {first} and {last}");
        let position = checker.key(&["load", "request", last]);
        checker.report(Finding::new(position, what).with_expected("one of the two"));
    }
}

/// Header fields that waggle would write itself and leaves out.
fn without_headers(checker: &mut Checker<'_>, given: Option<Vec<String>>) -> Option<Vec<String>> {
    let mut fine = true;
    for (index, name) in given.iter().flatten().enumerate() {
        if !name.eq_ignore_ascii_case("content-type") {
            let what = format!("{} is no header that can be left out", quote(name));
            let number = index.to_string();
            let position = checker.position_of(&["load", "request", "without_headers", &number]);
            checker.report(
                Finding::new(position, what)
                    .with_expected("Content-Type, which requests with records have"),
            );
            fine = false;
        }
    }
    fine.then(|| given.unwrap_or_default())
}

fn random_body(checker: &mut Checker<'_>, bytes: u64) -> Option<Body> {
    if (1..=BODY_MAX_BYTES).contains(&bytes) {
        return Some(Body::Random(bytes));
    }
    let what = format!("load.request.body_random is {}", format_size(bytes));
    let expected = format!("a size from 1B to {}", format_size(BODY_MAX_BYTES));
    let position = checker.position_of(&["load", "request", "body_random"]);
    checker.report(Finding::new(position, what).with_expected(expected));
    None
}

/// The only endpoint, or the only one that every configuration has.
fn default_endpoint(system: &System) -> Option<&Endpoint> {
    let endpoints = system.endpoints.iter();
    let everywhere: Vec<&Endpoint> = endpoints
        .filter(|endpoint| is_everywhere(endpoint, system))
        .collect();
    match (&system.endpoints[..], &everywhere[..]) {
        ([only], _) => Some(only),
        (_, [only]) => Some(only),
        _ => None,
    }
}

/// Whether neither the endpoint nor its component has a condition.
fn is_everywhere(endpoint: &Endpoint, system: &System) -> bool {
    let mut components = system.components.iter();
    let component = components.find(|known| known.name == endpoint.component);
    endpoint.when.0.is_empty() && component.is_none_or(|component| component.when.0.is_empty())
}

/// The endpoint that the key `endpoint` below `path` names, or the default one.
pub(crate) fn endpoint(
    checker: &mut Checker<'_>,
    given: Option<&str>,
    system: Option<&System>,
    path: &[&str],
) -> Option<String> {
    let system = system?;
    let names = || {
        system
            .endpoints
            .iter()
            .map(|endpoint| endpoint.name.as_str())
    };
    let (around, path) = (path, [path, &["endpoint"]].concat());
    match given {
        Some(name) if names().any(|known| known == name) => Some(name.to_owned()),
        Some(name) => {
            let what = format!(
                "{} is {name:?}, which is no endpoint of system {}",
                path_text(&path),
                system.name
            );
            let finding = Finding::new(checker.position_of(&path), what)
                .with_expected(list(names()))
                .with_suggestion(nearest_word(name, names()));
            checker.report(finding);
            None
        }
        None if checker.is_invalid(&path) => None,
        None => match default_endpoint(system) {
            Some(endpoint) => Some(endpoint.name.clone()),
            None => {
                let what = format!(
                    "{} names no endpoint, and system {} has several",
                    path_text(around),
                    system.name
                );
                let expected = format!("endpoint: one of {}", list(names()));
                checker.report(Finding::new(checker.key(around), what).with_expected(expected));
                None
            }
        },
    }
}
