//! A record and its parts; nothing here reads or writes text.

/// One reading: a measurement, what identifies its series, its values and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub measurement: String,
    /// Tag key and value, in the order given; keys are unique.
    pub tags: Vec<(String, String)>,
    /// Field key and value, in the order given; never empty, keys are unique.
    pub fields: Vec<(String, FieldValue)>,
    /// Nanoseconds since 1970-01-01T00:00:00Z; `None` if the text had no time.
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

/// The first time `InfluxDB` documents as valid, 1677-09-21T00:12:43.145224194Z.
pub const TIME_MIN_NS: i64 = -9_223_372_036_854_775_806;
/// The last time `InfluxDB` documents as valid, 2262-04-11T23:47:16.854775806Z.
pub const TIME_MAX_NS: i64 = 9_223_372_036_854_775_806;

impl Precision {
    /// The precision of that name, as in a `precision=` query: `s`, `ms`, `us` or `u`, `ns` or `n`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Milliseconds),
            "us" | "u" => Some(Self::Microseconds),
            "ns" | "n" => Some(Self::Nanoseconds),
            _ => None,
        }
    }

    /// The name that [`Self::from_name`] reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    /// A time of this unit in nanoseconds; `None` outside [`TIME_MIN_NS`] to [`TIME_MAX_NS`].
    #[must_use]
    pub fn to_ns(self, time: i64) -> Option<i64> {
        let factor = match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        };
        time.checked_mul(factor)
            .filter(|ns| (TIME_MIN_NS..=TIME_MAX_NS).contains(ns))
    }

    /// What the unit is called in a message.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

/// A mistake in a text, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}{}", remedy_text(self))]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What was expected there, and what was found.
    pub problem: String,
    /// The option of the reader that accepts such a text, if there is one.
    pub remedy: Option<String>,
}

impl Mistake {
    /// A mistake at this line and column, both counted from 1.
    #[must_use]
    pub fn new(line: usize, column: usize, problem: impl Into<String>) -> Self {
        Self {
            line,
            column,
            problem: problem.into(),
            remedy: None,
        }
    }

    pub(crate) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

fn remedy_text(mistake: &Mistake) -> String {
    let remedy = mistake.remedy.as_ref();
    remedy.map_or_else(String::new, |remedy| format!("; {remedy}"))
}

/// Most mistakes that a reader reports for one text; it stops at the last of them.
pub const MISTAKES_MAX: usize = 100;
/// The same for tables, whose rows repeat a mistake: it can be counted.
pub const TABLE_MISTAKES_MAX: usize = 100_000;

/// Why a text or a value is not what it should be, without its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Problem(pub(crate) String);

/// Why a record cannot be written in a format, which cannot express it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unwritable {
    #[error("the record has no fields")]
    NoFields,
    #[error("{part} is empty")]
    Empty { part: &'static str },
    #[error("{part} holds a line break: {text:?}")]
    LineBreak { part: &'static str, text: String },
    #[error("{part} holds a control character: {text:?}")]
    Control { part: &'static str, text: String },
    #[error("{part} ends in a backslash, which line protocol cannot say: {text:?}")]
    LastBackslash { part: &'static str, text: String },
    #[error("a measurement that starts with # would be a comment: {text:?}")]
    Comment { text: String },
    #[error("field {key:?} is not a finite number: {value}")]
    NotFinite { key: String, value: f64 },
    #[error("{key:?} begins with waggle_, a name that is kept for the stamps")]
    Reserved { key: String },
    #[error("a request cannot carry records as CSV")]
    NotABody,
}
