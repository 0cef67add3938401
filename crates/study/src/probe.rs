//! Probes: what watches the stores in which records arrive.

use crate::When;

/// Watches a store in which records arrive.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub name: String,
    pub when: When,
    pub component: String,
    pub port: String,
    /// Other components that hold the data which it shows.
    pub backed_by: Vec<String>,
    pub kind: ProbeKind,
    pub extract: Extract,
}

impl Probe {
    /// The components that may lose records which it has shown: its own, and those that hold the data.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let others = self.backed_by.iter().map(String::as_str);
        std::iter::once(self.component.as_str()).chain(others)
    }
}

/// How the store is read.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeKind {
    /// Text over HTTP that is read by offset.
    Tail {
        /// Path and query; `${offset}` and `${limit}` are replaced at each poll.
        get: String,
        /// Text immediately before a line's offset.
        offset_after: String,
        /// Text immediately before the instant at which the store had the record, if a line has that.
        arrival_after: Option<String>,
        /// Records read at once.
        limit: u32,
    },
    /// An array in a JSON document over HTTP, of which a part is read at once.
    Items {
        /// Path and query; `${offset}` and `${limit}` are replaced at each poll.
        get: String,
        /// JSONPath of the array.
        items: String,
        /// Elements read at once, at least 2.
        limit: u32,
    },
    /// Text over HTTP that is read by the records' times.
    Query {
        query: ProbeQuery,
        /// Intended number of records in one answer.
        limit: u32,
    },
    /// Every message of a topic of Kafka, whose value is lines.
    Kafka { topic: String },
    /// Documents of JSON over HTTP, one a line, in an answer that goes on.
    Watch(Box<Watch>),
}

/// An answer that goes on: the server sends a line for each change. Where it ends, another request goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// Path and query; `${version}` is replaced by the place to go on from.
    pub get: String,
    /// Header fields of all requests; `${secret.NAME}` is replaced.
    pub headers: Vec<(String, String)>,
    /// `None`: the server cannot go on where an answer ended.
    pub versions: Option<WatchVersions>,
    /// Only lines with these values have a record.
    pub conditions: Vec<JsonValue>,
    /// A line with all of these says that the server cannot go on from the version; empty: no line does.
    pub gone: Vec<JsonValue>,
}

impl Watch {
    /// Whether an answer that begins anew shows what is there already.
    pub fn shows_existing(&self) -> bool {
        matches!(
            &self.versions,
            Some(WatchVersions {
                begin: WatchBegin::At(_),
                ..
            })
        )
    }
}

/// The places from which a server goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchVersions {
    pub begin: WatchBegin,
    /// JSONPath of the version in a line; a line without it leaves the version as it is.
    pub path: String,
}

/// The version of the first answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchBegin {
    /// This text; the answer begins with what is there already.
    At(String),
    /// That at a JSONPath in the answer to this path; what is there already is not shown.
    Asked { get: String, path: String },
}

/// A value that a document of JSON has at a JSONPath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonValue {
    pub path: String,
    pub text: String,
}

/// A query for the records of a stretch of time. In path, header fields and body, `${from}` (first) and `${to}` (behind
/// the last) are replaced by nanoseconds since 1970, `${run}` by the mark of the trial's records, and `${secret.NAME}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeQuery {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// How the parts of a record are extracted from a line of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Extract {
    /// Text immediately before the record's key, run and time.
    After {
        key: String,
        /// `None`: every record in the answer is the trial's.
        run: Option<String>,
        /// `None`: the time ends the line, as in line protocol.
        time: Option<String>,
    },
    /// Columns of CSV by the names in its header.
    Columns {
        key: String,
        time: String,
        /// `None`: every record in the answer is the trial's.
        run: Option<String>,
    },
}
