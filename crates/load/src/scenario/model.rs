//! The parts of a scenario. Plain values: names are resolved and mistakes refused when a job is validated.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use waggle_spec::{FeedOrder, OnFailure, Think};

use super::{rows::Rows, template::Template};
use crate::requests::expect::Expect;

/// What sessions do. A session runs one flow, drawn by weight, from start to end, with its own variables and cookie jar.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scenario {
    /// The `Host` of every request without a `Host` header.
    pub host: String,
    /// Names of the steps that send requests, in the order of [`crate::Interval::steps`].
    pub steps: Vec<String>,
    /// Never empty.
    pub flows: Vec<Flow>,
    pub feeds: Vec<Feed>,
    /// The id of the run, for `{{record.run}}`; letters and digits.
    pub run: String,
    /// `None`: sessions start until the load ends.
    pub preparation: Option<Preparation>,
}

/// A load that prepares a system: a number of sessions, each of which makes its part exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// Sessions of earlier loads: sessions are numbered from the next one on, and feeds begin with that row.
    pub done: u64,
    /// The load ends after this number of sessions.
    pub sessions: u64,
    pub retries: Retries,
    /// Captured variables: each completed session keeps their values, see [`crate::Outcome::kept`].
    pub keeps: Vec<String>,
}

/// When a failed request is sent again. Its session continues with it, so that no object is left out and none is made twice by
/// another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retries {
    /// Of each request; 0: none is repeated.
    pub max: u32,
    /// Pause before the first repetition; it doubles with each, up to `pause_max`. An answer with `Retry-After` has its own
    /// pause, up to `pause_max`, too.
    pub pause: Duration,
    pub pause_max: Duration,
    /// Whether an answer that is not as expected is repeated in any case; otherwise only if its status says that a later request
    /// may succeed: 408, 425, 429, 500, 502, 503 and 504. A request without an answer is always repeated.
    pub any_answer: bool,
}

/// One way through the system under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flow {
    pub name: String,
    /// Its share of the sessions is this ÷ the sum of all weights; at least 1.
    pub weight: u32,
    /// In order; at least one request is among them.
    pub actions: Vec<Action>,
}

/// One thing that a session does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Action {
    Request(Box<StepRequest>),
    /// A pause.
    Pause(Think),
    Repeat(Repeat),
}

/// Actions that are repeated.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Repeat {
    pub rounds: Rounds,
    /// `{{offset}}` grows by this from round to round, from 0 on; 0: these actions have no `{{offset}}` of their own.
    pub offset_step: u64,
    pub actions: Vec<Action>,
}

/// How often actions are repeated.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Rounds {
    /// At least 1.
    Times(u32),
    While(WhileCaptured),
}

/// A round follows as long as the one before left something in a variable, as in a walk over the pages of a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WhileCaptured {
    pub variable: String,
    /// The variable's value in the first round.
    pub first: Template,
    /// Most rounds; at least 1.
    pub max_rounds: u32,
    /// What happens if the last of them left something in the variable.
    pub on_limit: OnFailure,
}

/// A request of a session, with the checks and captures of its answer. It carries a record if path, headers or body contain
/// `{{record.key}}`, a key that is unique in the run. `{{record.time}}` is the instant of sending in nanoseconds since 1970, also
/// unique.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepRequest {
    /// Its index in [`Scenario::steps`]; several requests may share one.
    pub step: usize,
    pub method: String,
    /// Path and query. Bytes of a variable that are invalid in a request line are percent-encoded.
    pub path: Template,
    /// Sent in this order. Control characters of a variable become spaces. The engine adds `Content-Length`; with a `Cookie` here
    /// the session's cookies are not sent.
    pub headers: Vec<(String, Template)>,
    /// Variables are not escaped.
    pub body: Template,
    pub expect: Expect,
    pub checks: Vec<Check>,
    /// Evaluated after the checks, if all of them hold.
    pub captures: Vec<Capture>,
    pub on_failure: OnFailure,
    /// Replaces [`crate::Limits::request_timeout`].
    pub timeout: Option<Duration>,
}

/// Stores a part of an answer in a variable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Capture {
    pub variable: String,
    pub from: Extractor,
    /// Whether the part may be missing, or `null` in JSON; the variable is empty then. Otherwise the request fails.
    pub is_optional: bool,
}

/// How a value is extracted from an answer. If several match, the first one counts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Extractor {
    /// From a JSON body. A string is taken without its quotes, anything else as JSON.
    Json(Query),
    /// The header of this name, in any case.
    Header(String),
    /// The match of this group of the pattern in a header of this name; of several such headers, the first with a match.
    HeaderMatch {
        name: String,
        pattern: Pattern,
        group: usize,
    },
    /// The match of this group of the pattern in the body; 0 is the whole match.
    Regex { pattern: Pattern, group: usize },
    /// The cookie of this name that the session has after the answer.
    Cookie(String),
}

/// A condition on an answer, in addition to [`Expect`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Check {
    pub of: Subject,
    pub holds: Condition,
}

/// The subject of a check.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Subject {
    /// The status, as its three digits.
    Status,
    /// The whole body.
    Body,
    Value(Extractor),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status => f.write_str("status"),
            Self::Body => f.write_str("body"),
            Self::Value(source) => source.fmt(f),
        }
    }
}

/// As a study has it.
impl fmt::Display for Extractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(query) => write!(f, "json {}", query.text()),
            Self::Header(name) => write!(f, "header {name}"),
            Self::HeaderMatch { name, pattern, .. } => {
                write!(f, "regex {} in header {name}", pattern.0.as_str())
            }
            Self::Regex { pattern, .. } => write!(f, "regex {}", pattern.0.as_str()),
            Self::Cookie(name) => write!(f, "cookie {name}"),
        }
    }
}

/// The condition on the subject. None holds for a missing value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Condition {
    Exists,
    Equals(Template),
    Contains(Template),
    /// The pattern matches somewhere in it.
    Matches(Pattern),
}

/// A JSONPath (RFC 9535).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Query {
    pub(crate) path: serde_json_path::JsonPath,
    text: String,
}

/// A regular expression over bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(pub(crate) regex::bytes::Regex);

/// An invalid JSONPath or regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .at.map_or_else(String::new, |at| format!(" at byte {at}")))]
pub struct SyntaxError {
    /// Offset of the wrong byte, from 0, if it is known.
    pub at: Option<usize>,
    pub what: String,
}

impl Query {
    /// Reads a JSONPath such as `$.items[0].id`.
    ///
    /// # Errors
    /// If the text is not a JSONPath.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let path = serde_json_path::JsonPath::parse(text).map_err(|error| SyntaxError {
            at: Some(error.position()),
            what: format!("not a JSONPath: {}", error.message()),
        })?;
        Ok(Self {
            path,
            text: text.to_owned(),
        })
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for Query {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        Self::parse(&text)
    }
}

impl From<Query> for String {
    fn from(query: Query) -> Self {
        query.text
    }
}

impl TryFrom<String> for Pattern {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        Self::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

impl Pattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// If the text is not a regular expression, or too large to be compiled.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        regex::bytes::Regex::new(text)
            .map(Self)
            .map_err(|error| SyntaxError {
                at: None,
                what: one_line(&error),
            })
    }

    /// Number of groups, the whole match included.
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

/// Rows of values; each session whose flow uses the feed takes one row. `{{name.column}}` is a value of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Feed {
    pub name: String,
    pub columns: Vec<String>,
    pub rows: Rows,
    pub order: FeedOrder,
}
