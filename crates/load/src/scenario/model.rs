//! What a scenario is made of. Plain values: names are looked up, and what cannot be is refused, when a job is checked.

use std::time::Duration;

use crate::{Expect, Think, scenario::Template};

/// What sessions do. A session runs one flow, drawn by weight, from its start to its end, with variables and a cookie
/// jar of its own.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The `Host` of every request whose headers have none.
    pub host: String,
    /// Names of the steps that send requests, in the order of [`crate::Interval::steps`].
    pub steps: Vec<String>,
    /// Never empty.
    pub flows: Vec<Flow>,
    pub feeds: Vec<Feed>,
    /// The mark of the run, for `{{record.run}}`; letters and digits.
    pub run: String,
}

/// One way through the system under test.
#[derive(Debug, Clone)]
pub struct Flow {
    pub name: String,
    /// Its share of the sessions is this ÷ the sum of all weights; at least 1.
    pub weight: u32,
    /// In order; at least one request is among them.
    pub actions: Vec<Action>,
}

/// One thing that a session does.
#[derive(Debug, Clone)]
pub enum Action {
    Request(Box<StepRequest>),
    /// Nothing is sent for so long.
    Pause(Think),
    Repeat(Repeat),
}

/// Actions that are gone through several times.
#[derive(Debug, Clone)]
pub struct Repeat {
    /// At least 1.
    pub times: u32,
    pub actions: Vec<Action>,
}

/// A request of a session, and what is done with its answer. It carries a record where path, headers or body name
/// `{{record.key}}`: a key that no other request of the run has. `{{record.time}}` is the instant at which it was sent, in
/// nanoseconds since 1970, likewise of this request alone.
#[derive(Debug, Clone)]
pub struct StepRequest {
    /// Its place in [`Scenario::steps`]; several requests may share one.
    pub step: usize,
    pub method: String,
    /// Path and query. Bytes of a variable that cannot stand in a request line are percent-encoded.
    pub path: Template,
    /// Sent in this order. Control characters of a variable become spaces. `Content-Length` is the engine's own; with a
    /// `Cookie` here the session's cookies are not sent.
    pub headers: Vec<(String, Template)>,
    /// Variables stand in it as they are.
    pub body: Template,
    pub expect: Expect,
    pub checks: Vec<Check>,
    /// Made after the checks, where all of them hold.
    pub captures: Vec<Capture>,
    pub on_failure: OnFailure,
    /// In place of [`crate::Limits::request_timeout`].
    pub timeout: Option<Duration>,
}

/// What becomes of a session whose request failed. Where the connection is lost with it, the session ends in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It ends there.
    #[default]
    End,
    /// It goes on as if the request had succeeded; a variable that was not captured keeps what it had, or is empty.
    GoOn,
}

/// Puts a part of an answer into a variable; the request fails where it is not there.
#[derive(Debug, Clone)]
pub struct Capture {
    pub variable: String,
    pub from: Source,
}

/// Where a value is found in an answer. Where several fit, the first one counts.
#[derive(Debug, Clone)]
pub enum Source {
    /// In a body of JSON. A text is taken without its quotes, anything else as JSON.
    Json(Query),
    /// A header of this name, in any case.
    Header(String),
    /// In the body: what this group of the pattern matched, 0 being the whole match.
    Regex { pattern: Pattern, group: usize },
    /// A cookie of this name that the session has after the answer.
    Cookie(String),
}

/// What must hold of an answer beside [`Expect`].
#[derive(Debug, Clone)]
pub struct Check {
    pub of: Subject,
    pub holds: Condition,
}

/// What a check looks at.
#[derive(Debug, Clone)]
pub enum Subject {
    /// The status, as its three digits.
    Status,
    /// The whole body.
    Body,
    Value(Source),
}

/// What must be so of it. Nothing holds of a value that is not there.
#[derive(Debug, Clone)]
pub enum Condition {
    Exists,
    Equals(Template),
    Contains(Template),
    /// The pattern matches somewhere in it.
    Matches(Pattern),
}

/// A JSONPath (RFC 9535).
#[derive(Debug, Clone)]
pub struct Query(pub(crate) serde_json_path::JsonPath);

/// A regular expression over bytes.
#[derive(Debug, Clone)]
pub struct Pattern(pub(crate) regex::bytes::Regex);

/// A JSONPath or a regular expression that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .at.map_or_else(String::new, |at| format!(" at byte {at}")))]
pub struct SyntaxError {
    /// The byte at which it goes wrong, counted from 0, where that is known.
    pub at: Option<usize>,
    pub what: String,
}

impl Query {
    /// Reads a JSONPath such as `$.items[0].id`.
    ///
    /// # Errors
    /// The text is no JSONPath.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        serde_json_path::JsonPath::parse(text)
            .map(Self)
            .map_err(|error| SyntaxError {
                at: Some(error.position()),
                what: format!("not a JSONPath: {}", error.message()),
            })
    }
}

impl Pattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// The text is no regular expression, or one too large to be compiled.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        regex::bytes::Regex::new(text)
            .map(Self)
            .map_err(|error| SyntaxError {
                at: None,
                what: one_line(&error),
            })
    }

    /// How many groups it has, the whole match among them.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.0.captures_len()
    }
}

/// The error of a regular expression shows the pattern with a mark below it; its last line says what is wrong.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!(
        "not a regular expression: {}",
        last.trim_start_matches("error: ")
    )
}

/// Rows of values, of which each session whose flow uses the feed takes one; `{{name.column}}` is a value of it.
#[derive(Debug, Clone)]
pub struct Feed {
    pub name: String,
    pub columns: Vec<String>,
    /// Each as long as `columns`; never empty.
    pub rows: Vec<Vec<String>>,
    pub order: FeedOrder,
}

/// Which row a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedOrder {
    /// The next one, and after the last the first again. Workers take turns: worker w of n begins at row w and goes on by n.
    Cycle,
    /// Any one, each as likely as any other.
    Random,
    /// The next one of the worker's part, each row once in the whole run. Where a worker has no row left it starts no
    /// session any more.
    Once,
    /// The row of the user: user number n has row n in all of its sessions. There are at least as many rows as users.
    PerUser,
}
