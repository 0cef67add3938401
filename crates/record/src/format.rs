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
    /// The format of a file by the end of its name: `.lp`, `.line`, `.influx`, `.json`, `.ndjson`, `.jsonl`, `.csv`.
    #[must_use]
    pub fn of_file_name(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "lp" | "line" | "influx" => Some(Self::LineProtocol),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// Reads a text of this format. CSV needs columns; NDJSON with columns is read as flat objects.
    pub fn read(
        self,
        text: &[u8],
        columns: Option<&Columns>,
        precision: Precision,
    ) -> Result<Vec<Record>, Vec<Mistake>> {
        match (self, columns) {
            (Self::LineProtocol, _) => line_protocol::read(text, precision),
            (Self::Json, _) => json::read(text, precision),
            (Self::Ndjson, None) => ndjson::read(text, precision),
            (Self::Ndjson, Some(columns)) => ndjson::read_flat(text, columns, precision),
            (Self::Csv, Some(columns)) => csv::read(text, columns, precision),
            (Self::Csv, None) => Err(vec![Mistake {
                line: 1,
                column: 1,
                problem: "a CSV file needs a measurement and the name of its time column".into(),
            }]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn formats_by_file_name() {
        let check = |name, expected| assert_eq!(Format::of_file_name(name), expected, "{name}");
        check("data/host-metrics.lp", Some(Format::LineProtocol));
        check("a.b.JSONL", Some(Format::Ndjson));
        check("a.ndjson", Some(Format::Ndjson));
        check("a.json", Some(Format::Json));
        check("plant.csv", Some(Format::Csv));
        check("csv", None);
        check("a.txt", None);
        check("", None);
    }
}
