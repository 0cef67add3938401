//! An incremental parser of annotated CSV, InfluxDB 2's format of query results. Pure.

use csv_core::{ReadRecordResult, Reader};

/// Longest row; a field's text is far shorter.
const ROW_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Initial buffer of a row.
const ROW_BYTES: usize = 512;
const ROW_CELLS: usize = 16;

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsvError {
    /// An error of the database in the middle of an answer.
    #[error("{0}")]
    Database(String),
    #[error("row {row} of the answer: {problem}")]
    Unreadable { row: usize, problem: &'static str },
}

/// A column of the current table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type in the annotation: `double`, `long`, `string`, …
    pub datatype: String,
}

/// The rows of one answer.
#[derive(Debug)]
pub struct Csv {
    reader: Reader,
    /// The current row: the texts of its cells in sequence, the end of each, and the number of both.
    text: Vec<u8>,
    text_length: usize,
    ends: Vec<usize>,
    ends_length: usize,
    /// Whether a part of a row has arrived.
    is_partial: bool,
    /// Whether the last row ended with a carriage return: a line feed after it is not an empty row.
    after_return: bool,
    datatypes: Vec<String>,
    columns: Vec<Column>,
    cells: Vec<String>,
    row: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Annotations, followed by the names of columns.
    #[default]
    Header,
    Rows,
}

/// Receives the rows.
pub trait Rows {
    /// A new table starts with these columns.
    fn columns(&mut self, columns: &[Column]);
    /// A row; returns false to end the parsing.
    fn row(&mut self, cells: &[String]) -> Result<bool, &'static str>;
}

impl Default for Csv {
    fn default() -> Self {
        Self {
            // `Reader::default` would have no table of states.
            reader: Reader::new(),
            text: Vec::new(),
            text_length: 0,
            ends: Vec::new(),
            ends_length: 0,
            is_partial: false,
            after_return: false,
            datatypes: Vec::new(),
            columns: Vec::new(),
            cells: Vec::new(),
            row: 0,
            state: State::default(),
        }
    }
}

impl Csv {
    /// Parses the next piece; false if the receiver wants no more.
    ///
    /// # Errors
    /// If it is not a table, or the database reports an error instead of rows.
    pub fn feed(&mut self, mut piece: &[u8], rows: &mut impl Rows) -> Result<bool, CsvError> {
        loop {
            piece = self.skip_breaks(piece);
            if piece.is_empty() {
                return Ok(true);
            }
            self.is_partial = true;
            let (result, read, written, ended) = self.reader.read_record(
                piece,
                &mut self.text[self.text_length..],
                &mut self.ends[self.ends_length..],
            );
            self.after_return = read > 0 && piece[read - 1] == b'\r';
            piece = &piece[read..];
            self.text_length += written;
            self.ends_length += ended;
            match result {
                ReadRecordResult::OutputFull => {
                    if self.text.len() >= ROW_MAX_BYTES {
                        return Err(self.unreadable("it is longer than any record"));
                    }
                    self.text.resize((2 * self.text.len()).max(ROW_BYTES), 0);
                }
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize((2 * self.ends.len()).max(ROW_CELLS), 0);
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => {
                    if !self.end_row(rows)? {
                        return Ok(false);
                    }
                }
                // Only after an empty input.
                ReadRecordResult::End => return Ok(true),
            }
        }
    }

    /// The answer has ended.
    ///
    /// # Errors
    /// If the answer ends within a row.
    pub fn end(self) -> Result<(), CsvError> {
        if self.is_partial {
            return Err(self.unreadable("it ends in the middle"));
        }
        Ok(())
    }

    /// Between rows: skips line breaks. One that is an empty row ends the table.
    fn skip_breaks<'a>(&mut self, mut piece: &'a [u8]) -> &'a [u8] {
        while !self.is_partial
            && let Some((first @ (b'\r' | b'\n'), rest)) = piece.split_first()
        {
            if !(*first == b'\n' && std::mem::take(&mut self.after_return)) {
                self.after_return = *first == b'\r';
                self.row += 1;
                self.state = State::Header;
                self.datatypes.clear();
            }
            piece = rest;
        }
        piece
    }

    /// A row is complete; false if the receiver wants no more.
    fn end_row(&mut self, rows: &mut impl Rows) -> Result<bool, CsvError> {
        self.row += 1;
        self.is_partial = false;
        let ends = &self.ends[..self.ends_length];
        self.cells.resize_with(ends.len(), String::new);
        let mut start = 0;
        for (cell, end) in self.cells.iter_mut().zip(ends) {
            let text = std::str::from_utf8(&self.text[start..*end]);
            let Ok(text) = text else {
                return Err(self.unreadable("it is not UTF-8"));
            };
            cell.clear();
            cell.push_str(text);
            start = *end;
        }
        (self.text_length, self.ends_length) = (0, 0);
        self.take(rows)
    }

    fn unreadable(&self, problem: &'static str) -> CsvError {
        CsvError::Unreadable {
            row: self.row,
            problem,
        }
    }

    fn take(&mut self, rows: &mut impl Rows) -> Result<bool, CsvError> {
        let first = &self.cells[0];
        if let Some(annotation) = first.strip_prefix('#') {
            self.state = State::Header;
            if annotation == "datatype" {
                std::mem::swap(&mut self.datatypes, &mut self.cells);
            }
        } else if self.state == State::Header {
            self.take_names(rows);
        } else if self.cells.len() != self.columns.len() {
            return Err(self.unreadable("it has other columns than its table"));
        } else if let Some(message) = self.error_text() {
            return Err(CsvError::Database(message));
        } else {
            return rows
                .row(&self.cells)
                .map_err(|problem| self.unreadable(problem));
        }
        Ok(true)
    }

    fn take_names(&mut self, rows: &mut impl Rows) {
        let datatypes = self.datatypes.iter().map(String::as_str);
        let datatypes = datatypes.chain(std::iter::repeat(""));
        let columns = self.cells.iter().zip(datatypes);
        self.columns = columns
            .map(|(name, datatype)| Column {
                name: name.clone(),
                datatype: datatype.to_owned(),
            })
            .collect();
        self.state = State::Rows;
        rows.columns(&self.columns);
    }

    /// The database's error instead of rows.
    fn error_text(&self) -> Option<String> {
        let position = |name: &str| self.columns.iter().position(|column| column.name == name);
        let index = position("error")
            .filter(|_| position("reference").is_some() && position("_value").is_none())?;
        Some(self.cells[index].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Seen(Vec<String>, usize);

    impl Rows for Seen {
        fn columns(&mut self, columns: &[Column]) {
            let name = |column: &Column| format!("{}:{}", column.name, column.datatype);
            let names: Vec<String> = columns.iter().map(name).collect();
            self.0.push(format!("[{}]", names.join("|")));
        }

        fn row(&mut self, cells: &[String]) -> Result<bool, &'static str> {
            self.0.push(cells.join("|"));
            Ok(self.0.len() != self.1)
        }
    }

    /// Parses the text in pieces of this many bytes.
    fn read(text: &str, piece: usize) -> (Vec<String>, Result<(), CsvError>) {
        let (mut seen, mut csv) = (Seen::default(), Csv::default());
        for piece in text.as_bytes().chunks(piece) {
            if let Err(error) = csv.feed(piece, &mut seen) {
                return (seen.0, Err(error));
            }
        }
        let ended = csv.end();
        (seen.0, ended)
    }

    #[track_caller]
    fn check(text: &str, rows: &[&str], ended: Result<(), CsvError>) {
        for piece in [text.len().max(1), 1, 2, 7] {
            let result = read(text, piece);
            assert_eq!(result.0, rows, "in pieces of {piece}");
            assert_eq!(result.1, ended, "in pieces of {piece}");
        }
    }

    #[test]
    fn tables_come_with_their_columns() {
        check("", &[], Ok(()));
        check("\r\n", &[], Ok(()));
        check(
            "#datatype,string,long\r\n,result,n\r\n,_result,1\r\n,_result,2\r\n\r\n#datatype,string\r\n,m\r\n,x\r\n",
            &[
                "[:#datatype|result:string|n:long]",
                "|_result|1",
                "|_result|2",
                "[:#datatype|m:string]",
                "|x",
            ],
            Ok(()),
        );
    }

    #[test]
    fn quoted_cells_may_have_separators() {
        check(
            ",a,b\n,\"x,\"\"y\"\"\r\nz\",\"\"\n",
            &["[:|a:|b:]", "|x,\"y\"\r\nz|"],
            Ok(()),
        );
    }

    #[test]
    fn error_of_the_database_in_the_middle_is_reported() {
        check(
            ",a\r\n,1\r\n\r\n#datatype,string,string\r\n,error,reference\r\n,out of memory,897\r\n",
            &["[:|a:]", "|1", "[:#datatype|error:string|reference:string]"],
            Err(CsvError::Database("out of memory".to_owned())),
        );
    }

    #[test]
    fn malformed_tables_are_refused() {
        let unreadable = |row, problem| Err(CsvError::Unreadable { row, problem });
        check(
            ",a\n,1,2\n",
            &["[:|a:]"],
            unreadable(2, "it has other columns than its table"),
        );
        check(
            ",a\n,x",
            &["[:|a:]"],
            unreadable(1, "it ends in the middle"),
        );
        check(
            ",a\n,\"x",
            &["[:|a:]"],
            unreadable(1, "it ends in the middle"),
        );
    }

    #[test]
    fn parsing_ends_if_the_receiver_wants_no_more() {
        let (mut seen, mut csv) = (Seen(Vec::new(), 2), Csv::default());
        assert_eq!(csv.feed(b",a\n,1\n,2\n,3\n", &mut seen), Ok(false));
        assert_eq!(seen.0, ["[:|a:]", "|1"]);
    }
}
