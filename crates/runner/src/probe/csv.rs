//! CSV with a header, as InfluxDB writes it: several tables, an empty line before each further one, lines with `#` between.
//! Pure.

use super::lines::{RowStamp, number};

/// Which columns say what, by their names, and where they stand in the table under way.
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

/// What one line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CsvLine {
    /// A header, an empty line, a remark.
    Other,
    Record(RowStamp),
    /// A row that is not of this run, or without key or time.
    Foreign,
    /// A header without the columns: what the answer says instead.
    Refusal(String),
}

/// Letters of a header that are shown.
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

    /// A new answer begins.
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
        let stamp = || {
            if let Some(column) = columns.run
                && self.fields.get(column)? != run
            {
                return None;
            }
            Some(RowStamp {
                key: number(self.fields.get(columns.key)?)?,
                time_ns: instant_ns(self.fields.get(columns.time)?)?,
            })
        };
        stamp().map_or(CsvLine::Foreign, CsvLine::Record)
    }

    fn header(&mut self, line: &[u8]) -> CsvLine {
        self.fields.cut(line);
        let place = |name: &str| self.fields.position(name);
        // A run without a column of its own is none; one whose column is missing makes the header another table's.
        let run = self.run.as_ref().map(|run| place(run));
        let columns = place(&self.key).zip(place(&self.time));
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

/// Cuts lines into their fields; its buffers are used again.
#[derive(Debug)]
struct Fields {
    reader: csv_core::Reader,
    text: Vec<u8>,
    /// Where each field ends in `text`.
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

    /// Cuts a line without its end. A line has no more fields than bytes, and one.
    fn cut(&mut self, line: &[u8]) {
        self.reader.reset();
        self.text.resize(self.text.len().max(line.len()), 0);
        self.ends.resize(self.ends.len().max(line.len() + 1), 0);
        let (_, _, written, ended) = self
            .reader
            .read_record(line, &mut self.text, &mut self.ends);
        // An empty input is the end of the text, and of its last field.
        let (_, _, _, last) =
            self.reader
                .read_record(&[], &mut self.text[written..], &mut self.ends[ended..]);
        self.count = ended + last;
    }

    fn get(&self, place: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.count];
        let end = *ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| ends[before]);
        self.text.get(start..end)
    }

    fn position(&self, name: &str) -> Option<usize> {
        (0..self.count).find(|place| self.get(*place) == Some(name.as_bytes()))
    }
}

/// Nanoseconds since 1970 in digits, or an instant as in RFC 3339.
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
    fn rows_of_other_runs_are_told_and_quotes_left_out() {
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
    fn an_error_in_place_of_a_table_is_told() {
        let mut csv = Csv::new("_value", "_time", None);
        let told = csv.read(b"error,reference\r", b"r1");
        assert!(matches!(told, CsvLine::Refusal(why) if why.contains("error,reference")));
    }
}
