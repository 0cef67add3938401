//! One record and what it is made of; nothing here reads or writes text.

/// One reading: a measurement, what identifies its series, its values and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub measurement: String,
    /// Tag key and value, in the order given; keys are unique.
    pub tags: Vec<(String, String)>,
    /// Field key and value, in the order given; never empty, keys are unique.
    pub fields: Vec<(String, FieldValue)>,
    /// Nanoseconds since 1970-01-01T00:00:00Z; `None` where the text gave no time.
    pub time_ns: Option<i64>,
}

/// A field's value, in the types of line protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    Float(f64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Text(String),
}

/// The unit of the times in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    Seconds,
    Milliseconds,
    Microseconds,
    #[default]
    Nanoseconds,
}

/// One thing wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What was expected there, and what stood there instead.
    pub problem: String,
}
