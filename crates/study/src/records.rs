//! Records from a file: how the file is read, and how its records are sent.

use waggle_spec::RecordsFormat;

/// Records from a file, stamped with key and time as they are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordsBody {
    /// As written in the study; relative to the study file's folder.
    pub file: String,
    /// How to read the file; from its name by default.
    pub format: RecordsFormat,
    /// How to write the body.
    pub send_as: RecordsFormat,
    pub per_request: u32,
    /// CSV, and JSON and NDJSON of any shape.
    pub table: Table,
}

/// How the rows of a table become records: roles of its columns and its layout, as written in the study.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Table {
    /// `None`: the records have measurement, tags, fields and time of their own.
    pub measurement: Option<RecordMeasurement>,
    pub time: Option<RecordTime>,
    pub tags: Vec<String>,
    /// `None`: every column without another role.
    pub fields: Option<Vec<String>>,
    pub leave_out: Vec<String>,
    pub missing: Vec<String>,
    pub skip_empty: bool,
    pub delimiter: Option<char>,
    pub decimal: Option<RecordDecimal>,
    pub skip_lines: u32,
    pub skip_after_header: u32,
    pub header: Option<Vec<String>>,
    pub comment: Option<String>,
    /// The name of the character encoding; UTF-8 by default.
    pub encoding: Option<String>,
}

/// The measurement of records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordMeasurement {
    Name(String),
    Column(String),
}

/// The time of records.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordTime {
    /// One, or several whose texts are joined by spaces.
    pub columns: Vec<String>,
    /// `s`, `ms`, `us`, `ns` or a pattern; `None`: as in RFC 3339, or in nanoseconds.
    pub format: Option<String>,
    /// UTC by default.
    pub zone: Option<String>,
}

/// What separates the integer part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordDecimal {
    Point,
    Comma,
}
