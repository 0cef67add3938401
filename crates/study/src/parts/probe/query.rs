//! A probe of kind query: records by their times.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_template::placeholder::{Part, parts};

use crate::{
    ProbeQuery,
    at::{At, Key, Place},
    check::Checker,
    mistake::Finding,
    parts::request::{Called, Method},
    substitute::is_secret,
};

/// A query for the records of a stretch of time. Its method is the key of its path: exactly one of get, put, post, …; or `method`
/// with `path`. In path, header fields and body, `${from}` (the first) and `${to}` (behind the last) are nanoseconds since 1970,
/// `${run}` is the mark of the trial's records; `${secret.NAME}` is allowed, too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// The body.
    pub body: Key<String>,
}

/// The query of a probe.
pub(super) fn query(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Query>,
    parameters: &[String],
) -> Option<ProbeQuery> {
    let called = keys.method.check(checker);
    let headers = checker.header_fields(&keys.headers);
    let Called { method, path } = called?;
    let query = ProbeQuery {
        method,
        path: path.value.clone(),
        headers,
        body: keys.body.value().cloned().unwrap_or_default(),
    };
    check_names(checker, place, &query, parameters);
    Some(query)
}

/// Reports unknown `${…}` of a query, and a query without a time range.
fn check_names(
    checker: &mut Checker<'_>,
    place: &Place,
    query: &ProbeQuery,
    parameters: &[String],
) {
    let position = place.value;
    let headers = query.headers.iter().map(|(_, value)| value);
    let mut named: Vec<&str> = Vec::new();
    for text in [&query.path, &query.body].into_iter().chain(headers) {
        let Some(parts) = parts(text) else {
            let what = format!("a ${{ without its }} in {}", place.path);
            checker.report(Finding::new(position, what).with_expected("${name}"));
            return;
        };
        named.extend(parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(*name),
            Part::Literal(_) => None,
        }));
    }
    let is_known = |name: &str| {
        matches!(name, "from" | "to" | "run")
            || is_secret(name)
            || parameters.iter().any(|known| known == name)
    };
    for name in named.iter().filter(|name| !is_known(name)) {
        let what = format!("${{{name}}} is not defined in {}", place.path);
        let expected = "from, to, run, secret.NAME, oauth2.token or a parameter";
        checker.report(Finding::new(position, what).with_expected(expected));
    }
    for needed in ["from", "to"] {
        if !named.contains(&needed) {
            let mistake = place.mistake(format!("lacks ${{{needed}}}"));
            checker.report(mistake.with_expected("${from} and ${to} in its path or its body"));
        }
    }
}
