//! CSV with a header, as InfluxDB writes it: several tables, separated by empty lines, and comment lines that start with `#`.
//! Pure.

use super::lines::{RowStamp, number};

/// The names of the columns, and their positions in the current table.
#[derive(Debug)]
pub(crate) struct Csv {
    key: String,
    time: String,
    /// `None`: every row is of this run.
    run: Option<String>,
    /// `None`: a header comes next.
    columns: Option<Columns>,
    fields: Fields,
}

#[derive(Debug, Clone, Copy)]
struct Columns {
    key: usize,
    time: usize,
    run: Option<usize>,
}

/// The content of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CsvLine {
    /// A header, an empty line, a comment.
    Other,
    Record(RowStamp),
    /// A row that is not of this run, or without key or time.
    Foreign,
    /// A header without the columns: the answer contains something else.
    Refusal(String),
}

/// Characters of a header that are shown.
const SHOWN: usize = 200;

impl Csv {
    pub(crate) fn new(key: &str, time: &str, run: Option<&str>) -> Self {
        Self {
            key: key.to_owned(),
            time: time.to_owned(),
            run: run.map(str::to_owned),
            columns: None,
            fields: Fields::new(),
        }
    }

    /// Starts a new answer.
    pub(crate) fn begin(&mut self) {
        self.columns = None;
    }

    /// Reads a line; `run` is the mark of this run's records.
    pub(crate) fn read(&mut self, line: &[u8], run: &[u8]) -> CsvLine {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            self.columns = None;
            return CsvLine::Other;
        }
        if line.starts_with(b"#") {
            return CsvLine::Other;
        }
        let Some(columns) = self.columns else {
            return self.header(line);
        };
        self.fields.cut(line);
        self.stamp(columns, run)
            .map_or(CsvLine::Foreign, CsvLine::Record)
    }

    /// That of the current line; `None`: it is not a record of this run.
    fn stamp(&self, columns: Columns, run: &[u8]) -> Option<RowStamp> {
        if let Some(column) = columns.run
            && self.fields.get(column)? != run
        {
            return None;
        }
        Some(RowStamp {
            key: number(self.fields.get(columns.key)?)?,
            time_ns: instant_ns(self.fields.get(columns.time)?)?,
        })
    }

    fn header(&mut self, line: &[u8]) -> CsvLine {
        self.fields.cut(line);
        let index = |name: &str| self.fields.position(name);
        // If no column is configured for the run, none is needed. If one is configured and missing, this is the header of another
        // table.
        let run = self.run.as_ref().map(|run| index(run));
        let columns = index(&self.key).zip(index(&self.time));
        self.columns = match (columns, run) {
            (Some((key, time)), None) => Some(Columns {
                key,
                time,
                run: None,
            }),
            (Some((key, time)), Some(Some(run))) => Some(Columns {
                key,
                time,
                run: Some(run),
            }),
            _ => None,
        };
        if self.columns.is_some() {
            return CsvLine::Other;
        }
        let shown: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
        CsvLine::Refusal(format!(
            "the answer begins with \"{shown}\"; expected CSV with the columns {} and {}",
            self.key, self.time
        ))
    }
}

/// Splits lines into their fields; reuses its buffers.
#[derive(Debug)]
struct Fields {
    reader: csv_core::Reader,
    text: Vec<u8>,
    /// The end of each field in `text`.
    ends: Vec<usize>,
    count: usize,
}

impl Fields {
    fn new() -> Self {
        Self {
            reader: csv_core::Reader::new(),
            text: Vec::new(),
            ends: Vec::new(),
            count: 0,
        }
    }

    /// Splits a line without its line ending. A line has at most one field more than bytes.
    fn cut(&mut self, line: &[u8]) {
        self.reader.reset();
        self.text.resize(self.text.len().max(line.len()), 0);
        self.ends.resize(self.ends.len().max(line.len() + 1), 0);
        let (_, _, written, ended) = self
            .reader
            .read_record(line, &mut self.text, &mut self.ends);
        // An empty input marks the end of the text, and of its last field.
        let (_, _, _, last) =
            self.reader
                .read_record(&[], &mut self.text[written..], &mut self.ends[ended..]);
        self.count = ended + last;
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.count];
        let end = *ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| ends[before]);
        self.text.get(start..end)
    }

    fn position(&self, name: &str) -> Option<usize> {
        (0..self.count).find(|index| self.get(*index) == Some(name.as_bytes()))
    }
}

/// Nanoseconds since 1970 in digits, or an RFC 3339 timestamp.
fn instant_ns(text: &[u8]) -> Option<u64> {
    if text.iter().all(u8::is_ascii_digit) {
        return number(text);
    }
    let instant: jiff::Timestamp = std::str::from_utf8(text).ok()?.parse().ok()?;
    u64::try_from(instant.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Csv, CsvLine};
    use crate::probe::lines::RowStamp;

    fn record(key: u64, time_ns: u64) -> CsvLine {
        CsvLine::Record(RowStamp { key, time_ns })
    }

    #[track_caller]
    fn check(run: Option<&str>, lines: &[(&str, CsvLine)]) {
        let mut csv = Csv::new("_value", "_time", run);
        for (line, expected) in lines {
            assert_eq!(csv.read(line.as_bytes(), b"r1"), *expected, "{line}");
        }
    }

    #[test]
    fn what_influxdb_answers_is_read() {
        use CsvLine::{Foreign, Other};
        check(
            None,
            &[
                ("#datatype,string,long,dateTime:RFC3339,long\r", Other),
                (",result,table,_time,_value\r", Other),
                (
                    ",_result,0,2023-11-14T22:13:20.000000001Z,5\r",
                    record(5, 1_700_000_000_000_000_001),
                ),
                (
                    ",_result,0,1700000000000000002,6\r",
                    record(6, 1_700_000_000_000_000_002),
                ),
                (",_result,0,yesterday,6\r", Foreign),
                (",_result,0\r", Foreign),
                ("\r", Other),
                ("_value,_time", Other),
                ("7,9", record(7, 9)),
            ],
        );
    }

    #[test]
    fn rows_of_other_runs_are_foreign_and_quotes_removed() {
        use CsvLine::{Foreign, Other};
        check(
            Some("run"),
            &[
                ("note,run,_time,_value", Other),
                ("\"a, \"\"b\"\"\",r1,1,2", record(2, 1)),
                (",r12,1,2", Foreign),
                (",\"r1\",1,\"2\"", record(2, 1)),
                ("\"open,r1,1,2", Foreign),
            ],
        );
    }

    #[test]
    fn an_error_in_place_of_a_table_is_reported() {
        let mut csv = Csv::new("_value", "_time", None);
        let read = csv.read(b"error,reference\r", b"r1");
        assert!(matches!(read, CsvLine::Refusal(why) if why.contains("error,reference")));
    }
}
