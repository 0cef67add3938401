//! Roles of the columns of a table, and how its text is laid out.

use crate::{Precision, Zone};

/// How the rows of a CSV file, or the objects of NDJSON, become records. The columns of an object are its keys, those of nested
/// objects and lists by their path: `values.temperature`, `samples.0`. A column without a role is a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    pub measurement: Measurement,
    pub time: Option<TimeColumn>,
    /// The columns that are tags.
    pub tags: Vec<String>,
    /// The columns that are fields; `None`: all without another role.
    pub fields: Option<Vec<String>>,
    /// The columns that are not used.
    pub leave_out: Vec<String>,
    /// Cells with one of these texts are empty, such as `NAN`.
    pub missing: Vec<String>,
    /// Rows without the value of any field are left out. They are mistakes otherwise.
    pub skip_empty: bool,
    pub layout: Layout,
}

impl Columns {
    /// Columns of this measurement: every column is a field, and the layout is found.
    #[must_use]
    pub fn of_measurement(name: impl Into<String>) -> Self {
        Self {
            measurement: Measurement::Name(name.into()),
            time: None,
            tags: Vec::new(),
            fields: None,
            leave_out: Vec::new(),
            missing: Vec::new(),
            skip_empty: false,
            layout: Layout::default(),
        }
    }

    pub(crate) fn role(&self, column: &str) -> Role {
        let is = |name: &String| name == column;
        if let Some(part) = self
            .time
            .as_ref()
            .and_then(|time| time.columns.iter().position(is))
        {
            Role::Time(part)
        } else if matches!(&self.measurement, Measurement::Column(name) if name == column) {
            Role::Measurement
        } else if self.tags.iter().any(is) {
            Role::Tag
        } else if self.leave_out.iter().any(is) {
            Role::LeftOut
        } else if let Some(fields) = &self.fields
            && !fields.iter().any(is)
        {
            Role::LeftOut
        } else {
            Role::Field
        }
    }

    /// Every name that must be a column: a typing error in one would send other records than was meant.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let measurement = match &self.measurement {
            Measurement::Name(_) => None,
            Measurement::Column(name) => Some(name),
        };
        let time = self.time.iter().flat_map(|time| &time.columns);
        time.chain(measurement)
            .chain(&self.tags)
            .chain(self.fields.iter().flatten())
            .chain(&self.leave_out)
    }

    pub(crate) fn is_missing(&self, cell: &str) -> bool {
        cell.is_empty() || self.missing.iter().any(|text| text == cell)
    }
}

/// The measurement of the records of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measurement {
    /// The same of all records.
    Name(String),
    /// The column that has it.
    Column(String),
}

/// Where the time of a record is.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeColumn {
    /// One column, or several whose texts are joined by spaces, such as a date and a time of day. At least one.
    pub columns: Vec<String>,
    pub format: TimeFormat,
    /// The zone of times that do not name one.
    pub zone: Zone,
}

impl TimeColumn {
    /// A column with times whose format is found.
    #[must_use]
    pub fn of_column(name: impl Into<String>) -> Self {
        Self {
            columns: vec![name.into()],
            format: TimeFormat::default(),
            zone: Zone::default(),
        }
    }
}

/// How a time is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TimeFormat {
    /// As in RFC 3339, also with a space and without a zone, or an integer of the reader's precision.
    #[default]
    Standard,
    /// A number since 1970-01-01T00:00:00Z, which may have a fraction.
    Epoch(Precision),
    /// A pattern as of `strptime`: `%d.%m.%Y %H:%M:%S`.
    Pattern(String),
}

/// How the text of a CSV file is laid out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// One of [`DELIMITERS`]; `None`: the one that the header row has most of.
    pub delimiter: Option<char>,
    /// `None`: a point, and a column of numbers with a comma is a mistake.
    pub decimal: Option<Decimal>,
    /// Lines before the header row.
    pub skip_lines: usize,
    /// Lines between the header row and the first row, such as one with units.
    pub skip_after_header: usize,
    /// The names of the columns of a file without a header row.
    pub header: Option<Vec<String>>,
    /// Lines that begin with this text are left out.
    pub comment: Option<String>,
}

/// Characters that separate cells.
pub const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// What separates the integer part of a number from its fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    Point,
    Comma,
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Measurement,
    /// The part of the time with this index.
    Time(usize),
    Tag,
    Field,
    LeftOut,
}
