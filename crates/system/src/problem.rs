//! A problem in words, for the larger error or the remark that takes it in.

/// What went wrong, as a clause without the name of what it happened to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub String);

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self(text)
    }
}
