//! Annotated CSV as InfluxDB 2 answers queries, read as it comes. Pure.

/// The longest row; a field's text is far shorter.
const ROW_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsvError {
    /// What the database says in the middle of an answer.
    #[error("{0}")]
    Told(String),
    #[error("row {row} of the answer: {problem}")]
    Unreadable { row: usize, problem: &'static str },
}

/// A column of the rows at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As the annotation names it: `double`, `long`, `string`, …
    pub datatype: String,
}

/// The rows of one answer.
#[derive(Debug, Default)]
pub struct Csv {
    /// What has come of a row that is not whole.
    rest: Vec<u8>,
    /// Of `rest`, bytes in which the row's end was looked for, and whether a quote is open there.
    scanned: usize,
    is_quoted: bool,
    datatypes: Vec<String>,
    columns: Vec<Column>,
    cells: Vec<String>,
    row: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Annotations, and then the names of columns.
    #[default]
    Header,
    Rows,
}

/// Gets the rows.
pub trait Rows {
    /// Rows have these columns from now on.
    fn columns(&mut self, columns: &[Column]);
    /// A row; false when no more are wanted.
    fn row(&mut self, cells: &[String]) -> Result<bool, &'static str>;
}

impl Csv {
    /// Takes what has come; false when no more is wanted.
    pub fn feed(&mut self, piece: &[u8], rows: &mut impl Rows) -> Result<bool, CsvError> {
        self.rest.extend_from_slice(piece);
        let mut start = 0;
        while let Some(end) = self.row_end() {
            let line = &self.rest[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.row += 1;
            let cells = cells(line, &mut self.cells);
            cells.map_err(|problem| self.unreadable(problem))?;
            start = end + 1;
            self.scanned = start;
            if !self.take(rows)? {
                return Ok(false);
            }
        }
        self.rest.drain(..start);
        self.scanned -= start;
        if self.rest.len() > ROW_MAX_BYTES {
            return Err(self.unreadable("it is longer than any record"));
        }
        Ok(true)
    }

    /// The answer has ended.
    pub fn end(mut self, rows: &mut impl Rows) -> Result<(), CsvError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.feed(b"\n", rows)?;
        if self.is_quoted {
            return Err(self.unreadable("it ends in the middle"));
        }
        Ok(())
    }

    fn unreadable(&self, problem: &'static str) -> CsvError {
        CsvError::Unreadable {
            row: self.row,
            problem,
        }
    }

    /// Where the row that begins the rest ends; a line break between quotes does not end it.
    fn row_end(&mut self) -> Option<usize> {
        while let Some(found) = memchr::memchr2(b'"', b'\n', &self.rest[self.scanned..]) {
            let at = self.scanned + found;
            self.scanned = at + 1;
            if self.rest[at] == b'"' {
                self.is_quoted = !self.is_quoted;
            } else if !self.is_quoted {
                return Some(at);
            }
        }
        self.scanned = self.rest.len();
        None
    }

    fn take(&mut self, rows: &mut impl Rows) -> Result<bool, CsvError> {
        let first = &self.cells[0];
        if self.cells.len() == 1 && first.is_empty() {
            self.state = State::Header;
            self.datatypes.clear();
        } else if let Some(annotation) = first.strip_prefix('#') {
            self.state = State::Header;
            if annotation == "datatype" {
                std::mem::swap(&mut self.datatypes, &mut self.cells);
            }
        } else if self.state == State::Header {
            self.take_names(rows);
        } else if self.cells.len() != self.columns.len() {
            return Err(self.unreadable("it has other columns than its table"));
        } else if let Some(told) = self.told() {
            return Err(CsvError::Told(told));
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

    /// What the database says in place of rows.
    fn told(&self) -> Option<String> {
        let place = |name: &str| self.columns.iter().position(|column| column.name == name);
        let at =
            place("error").filter(|_| place("reference").is_some() && place("_value").is_none())?;
        Some(self.cells[at].clone())
    }
}

/// The cells of a row, into buffers that are used again.
fn cells(line: &[u8], cells: &mut Vec<String>) -> Result<(), &'static str> {
    let mut used = 0;
    let mut rest = line;
    loop {
        if cells.len() == used {
            cells.push(String::new());
        }
        let cell = &mut cells[used];
        used += 1;
        cell.clear();
        rest = if rest.first() == Some(&b'"') {
            quoted(&rest[1..], cell)?
        } else {
            let end = memchr::memchr(b',', rest).unwrap_or(rest.len());
            push(&rest[..end], cell)?;
            &rest[end..]
        };
        match rest.split_first() {
            None => break,
            Some((b',', more)) => rest = more,
            Some(_) => return Err("something follows a quoted cell"),
        }
    }
    cells.truncate(used);
    Ok(())
}

/// Reads a cell up to its last quote, where two are one; what follows it.
fn quoted<'a>(mut rest: &'a [u8], cell: &mut String) -> Result<&'a [u8], &'static str> {
    loop {
        let end = memchr::memchr(b'"', rest).ok_or("a quote is not closed")?;
        push(&rest[..end], cell)?;
        rest = &rest[end + 1..];
        if rest.first() != Some(&b'"') {
            return Ok(rest);
        }
        cell.push('"');
        rest = &rest[1..];
    }
}

fn push(bytes: &[u8], cell: &mut String) -> Result<(), &'static str> {
    cell.push_str(std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8")?);
    Ok(())
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

    /// What is read of the text when it comes in pieces of this many bytes.
    fn read(text: &str, piece: usize) -> (Vec<String>, Result<(), CsvError>) {
        let (mut seen, mut csv) = (Seen::default(), Csv::default());
        for piece in text.as_bytes().chunks(piece) {
            if let Err(error) = csv.feed(piece, &mut seen) {
                return (seen.0, Err(error));
            }
        }
        let ended = csv.end(&mut seen);
        (seen.0, ended)
    }

    #[track_caller]
    fn check(text: &str, rows: &[&str], ended: Result<(), CsvError>) {
        for piece in [text.len().max(1), 1, 2, 7] {
            let found = read(text, piece);
            assert_eq!(found.0, rows, "in pieces of {piece}");
            assert_eq!(found.1, ended, "in pieces of {piece}");
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
    fn a_cell_may_hold_what_parts_cells() {
        check(
            ",a,b\n,\"x,\"\"y\"\"\r\nz\",\"\"\n",
            &["[:|a:|b:]", "|x,\"y\"\r\nz|"],
            Ok(()),
        );
    }

    #[test]
    fn what_the_database_tells_in_the_middle_is_an_error() {
        check(
            ",a\r\n,1\r\n\r\n#datatype,string,string\r\n,error,reference\r\n,out of memory,897\r\n",
            &["[:|a:]", "|1", "[:#datatype|error:string|reference:string]"],
            Err(CsvError::Told("out of memory".to_owned())),
        );
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let unreadable = |row, problem| Err(CsvError::Unreadable { row, problem });
        check(
            ",a\n,1,2\n",
            &["[:|a:]"],
            unreadable(2, "it has other columns than its table"),
        );
        check(
            ",a\n\"x\"y,1\n",
            &["[:|a:]"],
            unreadable(2, "something follows a quoted cell"),
        );
        check(
            ",a\n,\"x",
            &["[:|a:]"],
            unreadable(1, "it ends in the middle"),
        );
    }

    #[test]
    fn who_has_enough_is_not_asked_further() {
        let (mut seen, mut csv) = (Seen(Vec::new(), 2), Csv::default());
        assert_eq!(csv.feed(b",a\n,1\n,2\n,3\n", &mut seen), Ok(false));
        assert_eq!(seen.0, ["[:|a:]", "|1"]);
    }
}
