//! A probe of kind watch: an answer that goes on, and where the next one begins.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    JsonValue, Level, WatchVersions,
    at::{At, Key, Place},
    check::Checker,
    parts::texts::{
        check_json_path, refuse_key, refuse_unknown, refuse_unknown_names, require_key,
    },
    substitute::is_secret,
};

/// Documents of JSON over HTTP, one a line, in an answer that goes on: the server sends a line for each change. Where it ends,
/// another request goes on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// Path and query of a GET request; `${version}` is where it goes on.
    #[schemars(required)]
    pub get: Key<String>,
    /// Header fields, of the request of `begin`, too; may hold parameters and `${secret.NAME}`.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// Where the first request begins, and one after the server could not go on; with `${version}`.
    pub begin: Key<WatchBegin>,
    /// JSONPath of the version in a line, such as $.object.metadata.resourceVersion; with `${version}`. A line without it leaves
    /// the version as it is.
    pub version: Key<String>,
    /// Only lines with these values have a record: JSONPaths and values, such as `$.type: ADDED`. Without it all have.
    #[serde(rename = "where")]
    pub conditions: Key<IndexMap<String, At<Level>>>,
    /// A line with these values says that the server cannot go on from the version: JSONPaths and values, such as
    /// `$.object.code: 410`; with `${version}`. The status 410 always says so.
    pub gone: Key<IndexMap<String, At<Level>>>,
}

/// The first version: `at`, or `get` with `version`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchBegin {
    /// The version itself, from which the answer begins with what is there already.
    pub at: Key<String>,
    /// Path and query of a GET request whose answer is a JSON document with the version.
    pub get: Key<String>,
    /// JSONPath of the version in that document.
    pub version: Key<String>,
}

const VERSION_NAME: &str = "${version}";
const BEGIN: &str = "{ at: TEXT } or { get: PATH, version: JSONPATH }";
const VERSION: &str = "the JSONPath of the version, such as $.version";
const VALUE: &str = "a JSONPath such as $.type";

pub(super) fn watch(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<Watch>,
    parameters: &[String],
) -> Option<crate::Watch> {
    let headers = headers(checker, &keys.headers, parameters);
    let conditions = json_values(checker, &keys.conditions);
    let gone = json_values(checker, &keys.gone);
    let get = keys.get.content()?;
    refuse_unknown_names(checker, get, parameters, &["version"]);
    checker.target_of(get, &get.value);
    let versions = match get.value.contains(VERSION_NAME) {
        true => Some(versions(checker, place, keys, parameters)?),
        false => {
            let kind = "a get without ${version}";
            refuse_key(checker, &keys.begin, kind);
            refuse_key(checker, &keys.version, kind);
            refuse_key(checker, &keys.gone, kind);
            None
        }
    };
    Some(crate::Watch {
        get: get.value.clone(),
        headers,
        versions,
        conditions,
        gone,
    })
}

fn headers(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<String>>>,
    parameters: &[String],
) -> Vec<(String, String)> {
    let headers = checker.header_fields(given);
    let is_known = |name: &str| is_secret(name) || parameters.iter().any(|known| known == name);
    for At { place, value } in given.value().into_iter().flat_map(IndexMap::values) {
        refuse_unknown(checker, place.value, value, is_known);
    }
    headers
}

/// The values that lines are compared with.
fn json_values(
    checker: &mut Checker<'_>,
    given: &Key<IndexMap<String, At<Level>>>,
) -> Vec<JsonValue> {
    let mut values = Vec::new();
    for (path, level) in given.value().into_iter().flatten() {
        check_json_path(checker, &level.place, path, VALUE);
        values.push(JsonValue {
            path: path.clone(),
            text: level.value.to_string(),
        });
    }
    values
}

fn versions(
    checker: &mut Checker<'_>,
    place: &Place,
    keys: &Watch,
    parameters: &[String],
) -> Option<WatchVersions> {
    let begin = require_key(checker, place, &keys.begin, "begin", BEGIN);
    let begin = begin.and_then(|begin| watch_begin(checker, begin, parameters));
    let path = version_path(checker, place, &keys.version);
    Some(WatchVersions {
        begin: begin?,
        path: path?,
    })
}

fn watch_begin(
    checker: &mut Checker<'_>,
    At { place, value: keys }: &At<WatchBegin>,
    parameters: &[String],
) -> Option<crate::WatchBegin> {
    let why = match (keys.at.content(), keys.get.content()) {
        (Some(start), None) => {
            refuse_key(checker, &keys.version, "at");
            refuse_unknown_names(checker, start, parameters, &[]);
            return Some(crate::WatchBegin::At(start.value.clone()));
        }
        (None, Some(get)) => {
            refuse_unknown_names(checker, get, parameters, &[]);
            checker.target_of(get, &get.value);
            return Some(crate::WatchBegin::Asked {
                get: get.value.clone(),
                path: version_path(checker, place, &keys.version)?,
            });
        }
        _ if keys.at.is_invalid() || keys.get.is_invalid() => return None,
        (Some(_), Some(_)) => "has both at and get",
        (None, None) => "has neither at nor get",
    };
    checker.report(place.key_mistake(why).with_expected(BEGIN));
    None
}

fn version_path(checker: &mut Checker<'_>, around: &Place, given: &Key<String>) -> Option<String> {
    let At { place, value } = require_key(checker, around, given, "version", VERSION)?;
    check_json_path(checker, place, value, VERSION)?;
    Some(value.clone())
}
