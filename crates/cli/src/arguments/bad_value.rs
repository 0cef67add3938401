//! Why the value of a flag was refused.

/// A message that says what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadValue(String);

impl std::fmt::Display for BadValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for BadValue {}

impl From<&str> for BadValue {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl From<String> for BadValue {
    fn from(message: String) -> Self {
        Self(message)
    }
}
