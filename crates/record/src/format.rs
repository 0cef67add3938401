//! The formats by name.

use crate::{Columns, Mistake, Precision, Record, csv, json, line_protocol, ndjson};

/// A text format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    LineProtocol,
    /// One object, or an array of them.
    Json,
    /// One object per line.
    Ndjson,
    /// A table with a header row.
    Csv,
}

impl Format {
    /// The format that a text looks like, by its first line that is neither blank nor a comment: an object or an array, a line of
    /// line protocol, else a table.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
        let first = first.unwrap_or_default();
        if first.starts_with(b"[") {
            return Self::Json;
        }
        if first.starts_with(b"{") {
            // An object over several lines is no line of NDJSON.
            let is_line = serde_json::from_slice::<serde::de::IgnoredAny>(first).is_ok();
            return if is_line { Self::Ndjson } else { Self::Json };
        }
        match line_protocol::lines(first).next() {
            Some(Ok(_)) => Self::LineProtocol,
            _ => Self::Csv,
        }
    }

    /// Reads the text of a file. CSV needs columns; JSON and NDJSON with columns are read as objects of any shape. A field has one type
    /// over the whole text, except in line protocol, whose values say theirs.
    pub fn read(
        self,
        text: &[u8],
        columns: Option<&Columns>,
        precision: Precision,
    ) -> Result<Vec<Record>, Vec<Mistake>> {
        match (self, columns) {
            (Self::LineProtocol, _) => line_protocol::read(text, precision),
            (Self::Json, None) => json::read_file(text, precision),
            (Self::Json, Some(columns)) => json::read_flat(text, columns, precision),
            (Self::Ndjson, None) => ndjson::read_file(text, precision),
            (Self::Ndjson, Some(columns)) => ndjson::read_flat(text, columns, precision),
            (Self::Csv, Some(columns)) => csv::read(text, columns, precision),
            (Self::Csv, None) => Err(vec![Mistake::new(
                1,
                1,
                "a CSV file needs the measurement of its records",
            )]),
        }
    }
}
