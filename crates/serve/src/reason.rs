//! Why something is not shown or not done.

use std::fmt;

/// A sentence for the reader of a page: what was tried, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(pub String);

impl Reason {
    /// Of an error, in its words.
    pub fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}
