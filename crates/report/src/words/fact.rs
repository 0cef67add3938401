//! A line of what is told of the method.

/// One line of "how it was measured".
pub(crate) type Fact = (&'static str, String);
