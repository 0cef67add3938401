//! What an answer lacked: the first answer of each step, of one worker, that did not hold a check, or had no value for a capture.
//! Answers are counted elsewhere; this is an example for who has to find out why.

use serde::{Deserialize, Serialize};

use super::rows::FeedRow;

/// Why an answer of a step failed that had the expected status and body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Its index in [`crate::Scenario::steps`].
    pub step: usize,
    /// A capture had no value; false: a check failed.
    pub is_capture: bool,
    /// The part of the answer, such as `json $.state`.
    pub subject: String,
    pub expected: Expected,
    /// The part's value; `None`: the answer had none. Bytes that are not UTF-8 are replaced, and more than 64 KiB are cut off.
    pub found: Option<String>,
    /// Those of the session.
    pub rows: Vec<FeedRow>,
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

/// The first mismatch of each step.
#[derive(Debug, Default)]
pub(crate) struct FirstMismatches(Vec<Mismatch>);

impl FirstMismatches {
    pub(crate) fn covers(&self, step: usize) -> bool {
        self.0.iter().any(|known| known.step == step)
    }

    pub(crate) fn push(&mut self, mismatch: Mismatch) {
        self.0.push(mismatch);
    }

    /// Adds the rows of the session to the mismatch of a step.
    pub(crate) fn set_rows(&mut self, step: usize, rows: Vec<FeedRow>) {
        let mut all = self.0.iter_mut();
        if let Some(known) = all.find(|known| known.step == step) {
            known.rows = rows;
        }
    }

    /// Whether the mismatch of a step has no rows.
    pub(crate) fn lacks_rows(&self, step: usize) -> bool {
        let mut all = self.0.iter();
        all.any(|known| known.step == step && known.rows.is_empty())
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
