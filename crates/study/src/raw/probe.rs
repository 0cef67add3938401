//! Probes of a system file, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Conditions, Method};
use crate::{Level, at::Key};

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
    pub backed_by: Option<Vec<String>>,
    /// Text over HTTP that is read by offset.
    pub tail: Option<Tail>,
    /// Text over HTTP that is read by the records' times: what may still change is asked for again.
    pub query: Option<Query>,
    /// Every message of a topic; its value is one or several lines.
    pub kafka: Option<KafkaTopic>,
    /// Documents of JSON over HTTP, one a line, in an answer that goes on as changes are made.
    pub watch: Option<Watch>,
    /// How the parts of a record are extracted from its line: key, run and time, and with tail its offset.
    #[schemars(required)]
    pub extract: Option<Extract>,
    /// Records read at once; with query about as many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit: Option<u32>,
}

/// Text over HTTP that is read by offset, one record a line; or with `items` a JSON document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tail {
    /// Path and query of a GET request; `${offset}` and `${limit}` are replaced at each poll.
    #[schemars(required)]
    pub get: Option<String>,
    /// The answer is a JSON document, and this is the JSONPath of the array in it: each element is a record, `${offset}` is the
    /// number of elements before it. Elements may come later before others that are there.
    pub items: Option<String>,
}

/// A query for the records of a stretch of time. Its method is the key of its path: exactly one of get, put, post, …; or `method`
/// with `path`. In path, header fields and body, `${from}` (the first) and `${to}` (behind the last) are nanoseconds since 1970,
/// `${run}` is the mark of the trial's records; `${secret.NAME}` is allowed, too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    #[serde(flatten)]
    pub method: Method,
    /// Header fields.
    pub headers: Option<IndexMap<String, String>>,
    /// The body.
    pub body: Option<String>,
}

/// A topic of Kafka.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KafkaTopic {
    /// Its name.
    #[schemars(required)]
    pub topic: Option<String>,
}

/// Documents of JSON over HTTP, one a line, in an answer that goes on: the server sends a line for each change. Where it ends,
/// another request goes on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// Path and query of a GET request; `${version}` is where it goes on.
    #[schemars(required)]
    pub get: Option<String>,
    /// Header fields, of the request of `begin`, too; may hold parameters and `${secret.NAME}`.
    pub headers: Option<IndexMap<String, String>>,
    /// Where the first request begins, and one after the server could not go on; with `${version}`.
    pub begin: Option<WatchBegin>,
    /// JSONPath of the version in a line, such as $.object.metadata.resourceVersion; with `${version}`. A line without it leaves
    /// the version as it is.
    pub version: Option<String>,
    /// Only lines with these values have a record: JSONPaths and values, such as `$.type: ADDED`. Without it all have.
    #[serde(rename = "where")]
    pub conditions: Option<IndexMap<String, Level>>,
    /// A line with these values says that the server cannot go on from the version: JSONPaths and values, such as
    /// `$.object.code: 410`; with `${version}`. The status 410 always says so.
    pub gone: Option<IndexMap<String, Level>>,
}

/// The first version: `at`, or `get` with `version`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WatchBegin {
    /// The version itself, from which the answer begins with what is there already.
    pub at: Option<String>,
    /// Path and query of a GET request whose answer is a JSON document with the version.
    pub get: Option<String>,
    /// JSONPath of the version in that document.
    pub version: Option<String>,
}

/// How the parts of a record are extracted from its line: `after` for each, or with query `column` for each.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extract {
    /// The line's offset, for tail without items.
    pub offset: Option<ValueAt>,
    /// The record's key.
    #[schemars(required)]
    pub key: Option<ValueAt>,
    /// The mark of the trial. Only with query it can be left out: then every record in the answer is the trial's.
    pub run: Option<ValueAt>,
    /// The record's time: nanoseconds since 1970, in a column also as in RFC 3339. Without it the time is at the end of the line,
    /// as in line protocol (not with tail, not with columns).
    pub time: Option<ValueAt>,
    /// When the store had the record, in nanoseconds since 1970, for tail without items; a line may lack it.
    pub arrival: Option<ValueAt>,
}

/// How a value is found in a line: exactly one of after and column.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueAt {
    /// The text immediately before it.
    pub after: Option<String>,
    /// Its column, by the header of CSV.
    pub column: Option<String>,
}
