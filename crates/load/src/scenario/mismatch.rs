//! What an answer lacked: the first answer of each step that did not hold a check, or had no value for a capture. Answers are counted
//! elsewhere; this is an example for who has to find out why.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    Extractor, Subject,
    program::{ConditionProgram, RequestProgram},
};
use crate::Failure;

/// The longest kept value.
const FOUND_MAX_BYTES: usize = 4096;

/// Why the first answer of a step failed that had the expected status and body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Its index in [`super::Scenario::steps`].
    pub step: usize,
    /// The part of the answer, such as `json $.state`.
    pub subject: String,
    pub expected: Expected,
    /// The part's value; `None`: the answer had none. Bytes that are not UTF-8 are replaced, and no more than 4 KiB are kept.
    pub found: Option<String>,
}

/// What was expected of the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expected {
    /// Any value.
    Value,
    /// A value that fits the path that begins with it.
    Link,
    Equal(String),
    Containing(String),
    /// A regular expression.
    Match(String),
}

/// The first check or capture of a request that its answer failed, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmet {
    Check(usize),
    Capture(usize),
}

impl From<Unmet> for Failure {
    fn from(unmet: Unmet) -> Self {
        match unmet {
            Unmet::Check(_) => Self::CheckFailed,
            Unmet::Capture(_) => Self::NotCaptured,
        }
    }
}

/// The first mismatch of each step.
#[derive(Debug, Default)]
pub(crate) struct FirstMismatches(Vec<Mismatch>);

impl FirstMismatches {
    pub(crate) fn has(&self, step: usize) -> bool {
        self.0.iter().any(|known| known.step == step)
    }

    pub(crate) fn push(&mut self, mismatch: Mismatch) {
        self.0.push(mismatch);
    }

    pub(crate) fn into_vec(self) -> Vec<Mismatch> {
        self.0
    }
}

/// Adds those of other workers, one for each step.
pub(crate) fn merge(into: &mut Vec<Mismatch>, others: Vec<Mismatch>) {
    for other in others {
        if !into.iter().any(|known| known.step == other.step) {
            into.push(other);
        }
    }
    into.sort_by_key(|mismatch| mismatch.step);
}

impl Mismatch {
    /// `compared` is the filled-in text that the check compares with.
    pub(crate) fn new(
        request: &RequestProgram,
        unmet: Unmet,
        found: Option<&[u8]>,
        compared: &[u8],
    ) -> Self {
        let compared = || text(compared);
        let (subject, expected) = match unmet {
            Unmet::Check(index) => {
                let check = &request.checks[index];
                let expected = match &check.holds {
                    ConditionProgram::Exists => Expected::Value,
                    ConditionProgram::Equals(_) => Expected::Equal(compared()),
                    ConditionProgram::Contains(_) => Expected::Containing(compared()),
                    ConditionProgram::Matches(pattern) => {
                        Expected::Match(pattern.0.as_str().to_owned())
                    }
                };
                (check.of.to_string(), expected)
            }
            Unmet::Capture(index) => {
                let capture = &request.captures[index];
                let expected = match capture.is_link {
                    true => Expected::Link,
                    false => Expected::Value,
                };
                (capture.from.to_string(), expected)
            }
        };
        Self {
            step: request.step,
            subject,
            expected,
            found: found.map(text),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(FOUND_MAX_BYTES)]).into_owned()
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
