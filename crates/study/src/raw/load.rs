//! The part `load` of a study, key by key: the model, and the one request.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{Arrivals, LoadKind, OnSocketError, Protocol};

use super::{
    DurationText, Feed, LoadLevel, Method, Name, OneOrSeveral, Rate, Records, Scenario, Size,
    Status, Think,
};

/// The load: a model with its keys, and a request or a scenario.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// The load model; there is no default.
    #[schemars(required)]
    pub model: Option<LoadKind>,
    /// Connections, over all workers. Closed: required. Open: 50 by default. Clients: those of each client; required.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Option<u32>,
    /// Requests in flight on one connection at once; 1 by default. Closed and open.
    #[schemars(range(min = 1, max = 1_000))]
    pub pipelining: Option<u32>,
    /// Number of clients, each with its own connections. Clients.
    #[schemars(range(min = 1, max = 1_000))]
    pub clients: Option<u32>,
    /// Requests of each client, at least one for each of its connections. Clients.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub requests: Option<u64>,
    /// What an error of a socket, or a timeout, does to its client; end_client by default. Clients.
    pub on_socket_error: Option<OnSocketError>,
    /// Requests that fall due, e.g. `1000/s`. Open.
    pub rate: Option<Rate>,
    /// A load that changes, stage by stage, beginning at 0; in place of `rate` or of a constant number of users. Open and users.
    #[schemars(length(min = 1, max = 1_000))]
    pub stages: Option<Vec<LoadStage>>,
    /// How arrivals are spread; poisson by default. Open.
    pub arrivals: Option<Arrivals>,
    /// Number of users, each with a connection of its own; with `stages` the most at a time, by default their highest target.
    /// Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// Time between an answer and the user's next request: `1s`, `{ exponential: 1s }` or `{ uniform: [1s, 3s] }`; with a
    /// scenario, between two sessions, and none by default. Users.
    pub think_time: Option<Think>,
    /// Processes that make the load together, each with its share of connections, rate, users, records and rows; 1 by default.
    #[schemars(range(min = 1, max = 10))]
    pub generators: Option<u32>,
    /// Load worker threads, over all generators; one for each CPU given to the load by default, and at least one for each
    /// generator.
    #[schemars(range(min = 1, max = 900))]
    pub workers: Option<u32>,
    /// The CPUs to which load worker threads are pinned, in turn; the system has the others. By default half of all.
    #[schemars(length(min = 1), inner(range(min = 0, max = 1_023)))]
    #[expect(
        dead_code,
        reason = "read from the tree: it holds for the study, and the load is a cell's"
    )]
    pub cpuset: Option<Vec<u32>>,
    /// The version of HTTP; http1 by default. With http2 the system must use it from the first byte.
    pub protocol: Option<Protocol>,
    /// Whether a connection is used for more than one request; true by default. With false each request asks the server to close
    /// the connection after its answer. Not with pipelining, http2 or a scenario.
    pub keep_alive: Option<bool>,
    /// How long opening a connection may take; 5s by default, of clients as long as an answer may take.
    pub connect_timeout: Option<DurationText>,
    /// Largest head of an answer, status line and headers together, from 1KiB to 16MiB; 64KiB by default. A larger one is a failure.
    pub max_header_size: Option<Size>,
    /// Most headers of an answer; 1000 by default. An answer with more is a failure.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_headers: Option<u32>,
    /// Addresses of this machine from which connections come in turn, e.g. `127.0.0.2` or `127.0.0.2-127.0.0.9`: one address has some
    /// 28,000 ports for connections to one port. By default the kernel chooses.
    #[schemars(length(min = 1, max = 256))]
    pub source_addresses: Option<Vec<String>>,
    /// What is sent: the same request again and again. Its path is under exactly one of get, put, post, head, delete, patch and
    /// options; or `method` and `path` are both given.
    pub request: Option<Request>,
    /// What is sent, in place of `request`: sessions of several requests.
    pub scenario: Option<Scenario>,
}

/// A stretch of time in which the level of the load changes evenly to another one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoadStage {
    /// How long it takes; 0s: the load jumps to the target.
    #[schemars(required)]
    pub duration: Option<DurationText>,
    /// The level at its end: a rate such as `1000/s`, or a number of users.
    #[schemars(required)]
    pub target: Option<LoadLevel>,
}

/// The request of the load. Its method is the key of its path: exactly one of get, put, post, head, delete, patch and options; or
/// `method` with `path`. Path, values of headers and `body` may have variables: {{feed.column}}, {{random.uuid}}, {{record.key}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Its name in thresholds and in the report.
    #[schemars(required)]
    pub name: Option<Name>,
    #[serde(flatten)]
    pub method: Method,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Option<String>,
    /// Header fields in addition to those that every request has.
    pub headers: Option<IndexMap<String, String>>,
    /// Header fields that waggle would write by itself and leaves out: the Content-Type of records.
    pub without_headers: Option<Vec<String>>,
    /// Rows of values: each request takes one of each feed, in the order cycle or random (once and per_user are for scenarios).
    /// All requests are made before the load starts.
    pub feeds: Option<Vec<Feed>>,
    /// The body as it is sent.
    pub body: Option<String>,
    /// The file with the body as it is sent, relative to the study's folder.
    pub body_file: Option<String>,
    /// A body of this many random bytes, e.g. `10MB`; they follow from the study's seed, and every request has the same.
    pub body_random: Option<Size>,
    /// Records as the body.
    pub records: Option<Records>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Option<Expect>,
    /// Measures answers with a status of 2xx while they stream: time to the first byte, bytes of the body before and after
    /// decompression. `{}` is enough.
    pub inspect: Option<Inspect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Option<DurationText>,
}

/// What is measured of the bodies of answers, which may be compressed by gzip or deflate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inspect {
    /// The JSON array whose elements are counted: `$.items` is a member of the document, `$` the document itself. An answer that is not
    /// JSON or has no such array fails.
    pub count: Option<String>,
}

/// Which answers are a success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// A status code or a list of them.
    pub status: Option<Status>,
    /// The whole body.
    pub body_equals: Option<String>,
    /// A part of the body, or a list of parts that must all be in it.
    pub body_contains: Option<OneOrSeveral>,
}
