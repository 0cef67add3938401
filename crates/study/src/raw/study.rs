//! A study file, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    FindLevel, Name, OneOrSeveral, Rate, Scenario, Share, Span, Status, Think, impl_methods,
};
use crate::Level;

pub(crate) type Factors = IndexMap<String, Vec<Level>>;
pub(crate) type Rows = Vec<IndexMap<String, Level>>;
/// Each component with its ports, each port with one `HOST:PORT` or several.
pub(crate) type ExternalComponents = IndexMap<String, IndexMap<String, OneOrSeveral>>;

/// A study: a system, the load on it, the schedule and what is measured.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "waggle study")]
#[expect(
    dead_code,
    reason = "factors and cells are read from the tree, for the places of their levels"
)]
pub(crate) struct Study {
    /// Name of the study; names the folder of its runs.
    #[schemars(required)]
    pub study: Option<Name>,
    /// The question the study answers, in a sentence; heads the report.
    #[schemars(required)]
    pub question: Option<String>,
    /// The system under study.
    #[schemars(required)]
    pub system: Option<UseSystem>,
    /// What varies: each factor with its levels. Every combination of levels is a cell. A factor is put to use as
    /// ${factor}, or by having the name of one of the system's parameters.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub factors: Option<Factors>,
    /// The cells row by row, in place of `factors`; every row has the same keys.
    #[schemars(length(min = 1))]
    pub cells: Option<Rows>,
    /// The load on the system.
    #[schemars(required)]
    pub load: Option<Load>,
    /// The phases of a trial, and how often each cell is tried.
    #[schemars(required)]
    pub schedule: Option<Schedule>,
    /// Components that are killed in mid-trial.
    pub disturb: Option<Vec<Disturbance>>,
    /// What is measured besides the answers' times.
    pub measure: Option<Measure>,
    /// Searches for the highest level of the load at which conditions hold, in every cell.
    pub find: Option<Find>,
    /// Figures that somebody published, shown beside the study's own.
    pub published: Option<Published>,
    /// Conditions that must hold in every cell, e.g. `delivery.missing == 0`.
    pub thresholds: Option<Vec<String>>,
    /// Widest 95 % interval of goodput over trials, as a share of the mean, before a cell is noisy; 0.1 by default.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub noisy_above: Option<f64>,
    /// Decides every random choice; made from the study's name by default.
    #[schemars(range(min = 0))]
    pub seed: Option<i64>,
}

/// A table of figures that somebody published, row by row beside the study's cells.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// What it is called, e.g. `Table 1`.
    #[schemars(required)]
    pub title: Option<String>,
    /// Who measured it and on what, in a sentence; stands below the table in the report.
    #[schemars(required)]
    pub source: Option<String>,
    /// The file, CSV with a header or NDJSON, relative to the study's folder. An empty field is no figure.
    #[schemars(required)]
    pub from: Option<String>,
    /// A factor or a list of them, and the columns of these names: a cell is shown beside the row that has its levels.
    #[schemars(required)]
    pub by: Option<OneOrSeveral>,
    /// The columns that are shown, each beside a number of the study.
    #[schemars(required, length(min = 1))]
    pub columns: Option<Vec<PublishedColumn>>,
}

/// One column of published figures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedColumn {
    /// The column in the file.
    #[schemars(required)]
    pub column: Option<String>,
    /// The number of the study that it is compared with, as in `thresholds`, e.g. `delivery.delay.mean`.
    #[schemars(required)]
    pub number: Option<String>,
    /// What the file's values are counted in, e.g. `s`, `ms`, `/s`, `%`; none for counts.
    pub unit: Option<String>,
    /// Its head in the report; the column's name by default.
    pub name: Option<String>,
}

/// The search for the highest rate, number of users or number of connections at which conditions hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    /// Searches for a rate of requests; for load.model open.
    pub rate: Option<Extreme>,
    /// Searches for a number of users; for load.model users.
    pub users: Option<Extreme>,
    /// Searches for a number of connections; for load.model closed.
    pub connections: Option<Extreme>,
    /// The conditions, as in `thresholds`; all must hold in a trial.
    #[serde(rename = "where")]
    #[schemars(required, length(min = 1))]
    pub conditions: Option<Vec<String>>,
    /// The first level, e.g. `1000/s` or `50`; then doubled or halved. 1000/s for a rate, else 10, by default.
    pub from: Option<FindLevel>,
    /// The lowest level to try; a hundredth of `from` for a rate, else 1, by default.
    pub at_least: Option<FindLevel>,
    /// The highest level to try; a thousand times `from` by default, within what a load can be.
    pub at_most: Option<FindLevel>,
    /// How close the two ends of the answer come, as a share of the lower; 5% by default.
    pub precision: Option<Share>,
    /// Trials that must hold at the level that is the answer; 3 by default.
    #[schemars(range(min = 1, max = 100))]
    pub confirm: Option<u32>,
    /// Trials of a cell in all; 30 by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub trials_at_most: Option<u32>,
}

/// Which end is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extreme {
    /// The highest level at which the conditions hold.
    Highest,
}

/// Which system, with which parameters; or the URL of a server that runs already.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseSystem {
    /// Name of the system: a folder in `systems/`.
    #[serde(rename = "use")]
    pub name: Option<Name>,
    /// In place of `use`: a server that runs already, e.g. `http://127.0.0.1:8080`. It is neither started nor stopped.
    pub url: Option<String>,
    /// Take the server's certificate unchecked. For `url` with https.
    pub insecure: Option<bool>,
    /// Values for the system's parameters; the others keep their defaults.
    pub set: Option<IndexMap<String, Level>>,
    /// Components that run already, each with the addresses of its ports, e.g. `kafka: { broker: "10.0.0.7:9092" }`; a list
    /// where it has several replicas. They are neither started nor stopped. For `use`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub external: Option<ExternalComponents>,
    /// Secrets of such components, each from an environment variable, e.g. `influxdb: ${env.INFLUX_TOKEN}`. For `use`.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub secrets: Option<IndexMap<String, String>>,
}

/// How requests come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Model {
    /// Each connection keeps `pipelining` requests under way.
    Closed,
    /// Requests fall due by the clock at `rate`, whatever the answers do.
    Open,
    /// Each of `users` sends, waits for the answer, and thinks.
    Users,
}

/// When requests of an open load fall due.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Arrivals {
    /// At random, independent of each other.
    Poisson,
    /// At equal distances.
    Uniform,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    /// HTTP/1.1: `pipelining` requests go out before the first is answered.
    Http1,
    /// HTTP/2: `pipelining` streams at once on a connection.
    Http2,
}

/// The load: a model with its keys, and a request or a scenario.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// How requests come about; there is no default.
    #[schemars(required)]
    pub model: Option<Model>,
    /// Connections, over all workers. Closed: required. Open: 50 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections: Option<u32>,
    /// Requests under way on one connection at once; 1 by default. Closed and open.
    #[schemars(range(min = 1, max = 1_000))]
    pub pipelining: Option<u32>,
    /// Requests that fall due, e.g. `1000/s`. Open.
    pub rate: Option<Rate>,
    /// How arrivals are spread; poisson by default. Open.
    pub arrivals: Option<Arrivals>,
    /// Number of users, each with a connection of its own. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// Time between an answer and the user's next request: `1s`, `{ exponential: 1s }` or `{ uniform: [1s, 3s] }`; with a
    /// scenario, between two sessions, and none by default. Users.
    pub think: Option<Think>,
    /// Load worker threads; one for each CPU given to the load by default.
    #[schemars(range(min = 1, max = 900))]
    pub workers: Option<u32>,
    /// The version of HTTP; http1 by default. With http2 the system is taken to speak it from the first byte.
    pub protocol: Option<Protocol>,
    /// What is sent: the same request again and again.
    pub request: Option<Request>,
    /// What is sent, in place of `request`: sessions of several requests.
    pub scenario: Option<Scenario>,
}

/// The request of the load. Its method is the key of its path: exactly one of get, put, post, …
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Its name in thresholds and in the report.
    #[schemars(required)]
    pub name: Option<Name>,
    /// Path of a GET request.
    pub get: Option<String>,
    /// Path of a PUT request.
    pub put: Option<String>,
    /// Path of a POST request.
    pub post: Option<String>,
    /// Path of a HEAD request.
    pub head: Option<String>,
    /// Path of a DELETE request.
    pub delete: Option<String>,
    /// Path of a PATCH request.
    pub patch: Option<String>,
    /// Path of an OPTIONS request.
    pub options: Option<String>,
    /// The system's endpoint it goes to; by default the only one.
    pub to: Option<String>,
    /// Header fields beside those that every request has.
    pub headers: Option<IndexMap<String, String>>,
    /// The body as it is sent.
    pub body: Option<String>,
    /// Records as the body, in place of `body`.
    pub records: Option<Records>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Option<Expect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Option<Span>,
}

impl_methods!(Request);

/// Records from a file, each stamped with a key and a time of its own as it is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    /// The file, relative to the study's folder.
    #[schemars(required)]
    pub from: Option<String>,
    /// How to read the file; by default from its ending: .lp, .ndjson, .json, .csv.
    pub format: Option<RecordsFormat>,
    /// How to write the body; line-protocol by default.
    #[serde(rename = "as")]
    pub send_as: Option<RecordsFormat>,
    /// Records in one request; 1 by default.
    #[schemars(range(min = 1, max = 100_000))]
    pub per_request: Option<u32>,
    /// The measurement of records from CSV or NDJSON.
    pub measurement: Option<String>,
    /// The column (key) with the time, in CSV or NDJSON.
    pub time: Option<String>,
    /// The columns (keys) that are tags, in CSV or NDJSON.
    pub tags: Option<Vec<String>>,
}

/// A text format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RecordsFormat {
    LineProtocol,
    Ndjson,
    Json,
    Csv,
}

/// Which answers are a success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// A status code or a list of them.
    pub status: Option<Status>,
    /// The whole body.
    pub body_equals: Option<String>,
    /// A part of the body.
    pub body_contains: Option<String>,
}

/// The phases of a trial, and how often each cell is tried.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Load before measuring; until steady, at most 20s, by default.
    pub warm_up: Option<WarmUp>,
    /// How long is measured.
    #[schemars(required)]
    pub measure: Option<Span>,
    /// Load behind the measured phase at a level to which it falls at once, to see how soon the system recovers; none by
    /// default. For load.model open and users, with `warm_up.until: time`.
    pub recovery: Option<Recovery>,
    /// How long records are awaited after the load has stopped; 30s by default where delivery is followed.
    pub drain: Option<Drain>,
    /// How long the system has to become ready; 30s by default.
    pub ready: Option<Ready>,
    /// Pause between two trials; none by default.
    pub cool_down: Option<Span>,
    /// Trials of each cell; 5 by default.
    #[schemars(range(min = 1, max = 1_000))]
    pub repeat: Option<u32>,
    /// Order of the cells within each repetition; shuffled by default.
    pub order: Option<Order>,
    /// How often the system is started anew; for every trial by default.
    pub fresh: Option<Fresh>,
}

/// How often the system is started anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fresh {
    /// For every trial.
    Trial,
    /// For every cell: its trials follow one another on the same processes and their files. After a trial that failed or left
    /// records behind it is started anew all the same.
    Cell,
}

/// Load before measuring.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    /// What ends it; steady by default.
    pub until: Option<WarmUpUntil>,
    /// The longest it may take.
    #[schemars(required)]
    pub at_most: Option<Span>,
    /// A lower level with which it begins, so that a cold system is not overloaded before it is measured; none by default. For
    /// load.model open and users.
    pub first: Option<First>,
}

/// The level with which a warm-up begins; then the load rises at once to its own. A load that is lower anyway stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct First {
    /// The rate, e.g. `100/s`. Open.
    pub rate: Option<Rate>,
    /// The number of users. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// How long: a whole multiple of measure.interval, and less than `at_most`.
    #[serde(rename = "for")]
    #[schemars(required)]
    pub time: Option<Span>,
}

/// What ends the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WarmUpUntil {
    /// As soon as the system is steady.
    Steady,
    /// When its time is up.
    Time,
}

/// Load behind the measured phase, at a level to which it falls at once. The system has recovered at the end of the last bad
/// interval: one in which a request failed, the p99 of response time was above `p99`, or no answer came.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recovery {
    /// The rate to which the load falls, e.g. `100/s`; at most `load.rate`. Open.
    pub rate: Option<Rate>,
    /// The number of users to which the load falls; at most `load.users`. Users.
    #[schemars(range(min = 1, max = 100_000))]
    pub users: Option<u32>,
    /// The highest p99 of response time that an interval may have and be good.
    #[schemars(required)]
    pub p99: Option<Span>,
    /// How long the load goes on, and so how long recovery is looked for: a whole multiple of measure.interval.
    #[schemars(required)]
    pub at_most: Option<Span>,
}

/// Waiting for records after the load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drain {
    /// The longest it may take.
    #[schemars(required)]
    pub at_most: Option<Span>,
    /// Where all that was accepted is there and some was not accepted, it ends once nothing new has come for so long; 2s by default.
    pub quiet: Option<Span>,
}

/// Waiting for the system to be ready.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ready {
    /// The longest it may take.
    #[schemars(required)]
    pub at_most: Option<Span>,
}

/// Order of the cells within each repetition.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// At random, by the seed.
    Shuffled,
    /// As the file lists them.
    AsListed,
}

/// A component that is killed in mid-trial and started again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disturbance {
    /// The component: one of its processes gets SIGKILL, with all that this has started. `none`: nothing in this cell.
    #[schemars(required)]
    pub kill: Option<String>,
    /// Which replica of it, counted from 0; 0 by default.
    #[schemars(range(min = 0, max = 255))]
    pub replica: Option<u32>,
    /// When, counted from the start of the measured phase, in which it lies.
    #[schemars(required)]
    pub at: Option<Span>,
    /// How long after that it is started again, with the same ports, folder and files.
    #[schemars(required)]
    pub again_after: Option<Span>,
}

/// What is measured besides the answers' times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// Length of one histogram interval; 1s by default. `schedule.measure` is a whole number of them.
    pub interval: Option<Span>,
    /// Time between two samples of CPU and memory; 1s by default.
    pub resources: Option<Span>,
    /// Following accepted records to where they must arrive.
    pub delivery: Option<Delivery>,
}

/// Following accepted records to where they must arrive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delivery {
    /// Name of one of the system's probes, or a list of them on the records' way: at the last one they must arrive.
    #[schemars(required)]
    pub at: Option<OneOrSeveral>,
    /// Time between two looks; 100ms by default.
    pub poll: Option<Span>,
    /// A record seen later than this after it was sent is late; none is by default.
    pub late_after: Option<Span>,
}
