//! Text files of any length, line by line or as rows of cells. A mistake has file, line and column.

use std::{
    fmt::{self, Display, Formatter},
    io::{BufRead, BufReader, Read},
    ops::Range,
    path::Path,
};

use anyhow::{Context, Error, Result, anyhow};
use waggle_runner::TextFile;

/// The longest line, row or tag.
pub(crate) const LENGTH_MAX: usize = 1 << 20;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Line and column in a file, both counted from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: usize,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

impl Display for Position {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.line, self.column)
    }
}

/// The lines of a file.
pub(crate) struct Lines<R> {
    /// As the user named it.
    pub(crate) name: String,
    reader: R,
    /// Of `text`, counted from 1.
    pub(crate) number: u64,
    /// Without its end.
    pub(crate) text: String,
}

/// A file, which may be compressed or UTF-16.
pub(crate) fn open_file(path: &Path) -> Result<BufReader<TextFile>> {
    let file = TextFile::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

pub(crate) fn open(path: &Path) -> Result<Lines<BufReader<TextFile>>> {
    Ok(Lines::new(path.display().to_string(), open_file(path)?))
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(name: String, reader: R) -> Self {
        Self {
            name,
            reader,
            number: 0,
            text: String::new(),
        }
    }

    /// Reads the next line; false at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let limit = LENGTH_MAX as u64 + 1;
        let read = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut bytes)
            .with_context(|| format!("cannot read {}", self.name))?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if bytes.len() > LENGTH_MAX {
            return Err(self.mistake(1, &format!("the line is longer than {LENGTH_MAX} bytes")));
        }
        match String::from_utf8(bytes) {
            Ok(text) => self.text = text,
            Err(problem) => {
                let valid = problem.utf8_error().valid_up_to();
                let before = String::from_utf8_lossy(&problem.as_bytes()[..valid]);
                let column = before.chars().count() + 1;
                return Err(self.mistake(column, "not UTF-8 text"));
            }
        }
        if self.number == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
            self.text.remove(0);
        }
        Ok(true)
    }

    /// A mistake in the current line; columns count characters from 1.
    pub(crate) fn mistake(&self, column: usize, problem: &str) -> Error {
        let place = Position {
            line: self.number,
            column,
        };
        self.mistake_at(place, problem)
    }

    fn mistake_at(&self, place: Position, problem: &str) -> Error {
        anyhow!("{}:{place}: {problem}", self.name)
    }
}

/// Rows of cells as in RFC 4180, with any delimiter.
pub(crate) struct Rows<R> {
    lines: Lines<R>,
    delimiter: char,
    text: String,
    cells: Vec<Cell>,
    /// Cells of each row; `None`: as many as there are.
    expected: Option<usize>,
    /// Whether the current row comes again as the next one.
    is_repeated: bool,
    /// What the first row is called.
    first_row: &'static str,
}

/// A cell of the current row.
struct Cell {
    range: Range<usize>,
    place: Position,
}

impl<R: BufRead> Rows<R> {
    pub(crate) fn new(lines: Lines<R>, delimiter: char) -> Self {
        Self {
            lines,
            delimiter,
            text: String::new(),
            cells: Vec::new(),
            expected: None,
            is_repeated: false,
            first_row: "header",
        }
    }

    /// Reads the header; its cells. Each later row must have as many. `expected`: what an empty file lacks.
    pub(crate) fn header(&mut self, expected: &str) -> Result<Vec<String>> {
        if !self.next_row()? {
            let problem = format!("expected {expected}, found an empty file");
            return Err(self.lines.mistake_at(Position::START, &problem));
        }
        self.expected = Some(self.cells.len());
        Ok((0..self.cells.len())
            .map(|index| self.cell(index).to_owned())
            .collect())
    }

    /// The first row is no header: it comes again as the next row.
    pub(crate) fn repeat_row(&mut self) {
        self.first_row = "first row";
        self.is_repeated = true;
    }

    /// Cells of the current row.
    pub(crate) fn width(&self) -> usize {
        self.cells.len()
    }

    /// Reads the next row that is not empty; false at the end of the file.
    pub(crate) fn next_row(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_repeated) {
            return Ok(true);
        }
        self.text.clear();
        self.cells.clear();
        loop {
            if !self.lines.next_line()? {
                return Ok(false);
            }
            if !self.lines.text.is_empty() {
                break;
            }
        }
        self.split()?;
        match self.expected {
            Some(expected) if self.cells.len() != expected => {
                let count = self.cells.len();
                let first = self.first_row;
                let problem = format!("expected {expected} cells as in the {first}, found {count}");
                Err(self.mistake(count - 1, &problem))
            }
            _ => Ok(true),
        }
    }

    fn split(&mut self) -> Result<()> {
        let (mut offset, mut column) = (0, 1);
        loop {
            let (start, line) = (self.text.len(), self.lines.number);
            let rest = &self.lines.text[offset..];
            let end = if rest.starts_with('"') {
                self.read_quoted(offset + 1, Position { line, column })?
            } else {
                let length = rest.find(self.delimiter).unwrap_or(rest.len());
                self.text.push_str(&rest[..length]);
                offset + length
            };
            let range = start..self.text.len();
            self.cells.push(Cell {
                range,
                place: Position { line, column },
            });
            let passed = if self.lines.number == line { offset } else { 0 };
            let first = if self.lines.number == line { column } else { 1 };
            column = first + self.lines.text[passed..end].chars().count();
            match self.lines.text[end..].chars().next() {
                None => return Ok(()),
                Some(letter) if letter == self.delimiter => {}
                Some(_) => {
                    let problem = format!("expected {:?} after the closing quote", self.delimiter);
                    return Err(self.lines.mistake(column, &problem));
                }
            }
            offset = end + self.delimiter.len_utf8();
            column += 1;
        }
    }

    /// The rest of a quoted cell from `offset` on; returns where it ends, in what is then the current line.
    fn read_quoted(&mut self, mut offset: usize, opened: Position) -> Result<usize> {
        loop {
            let rest = &self.lines.text[offset..];
            let Some(quote) = rest.find('"') else {
                self.text.push_str(rest);
                self.text.push('\n');
                let is_long = self.text.len() > LENGTH_MAX;
                if is_long || !self.lines.next_line()? {
                    let problem = "the quote has no end";
                    return Err(self.lines.mistake_at(opened, problem));
                }
                offset = 0;
                continue;
            };
            self.text.push_str(&rest[..quote]);
            offset += quote + 1;
            if !self.lines.text[offset..].starts_with('"') {
                return Ok(offset);
            }
            self.text.push('"');
            offset += 1;
        }
    }

    pub(crate) fn cell(&self, index: usize) -> &str {
        &self.text[self.cells[index].range.clone()]
    }

    /// A mistake in a cell of the current row.
    pub(crate) fn mistake(&self, index: usize, problem: &str) -> Error {
        self.lines.mistake_at(self.cells[index].place, problem)
    }

    /// That a cell is something else than expected.
    pub(crate) fn unexpected_value(&self, index: usize, expected: &str) -> Error {
        let text = show_text(self.cell(index));
        self.mistake(index, &format!("expected {expected}, found {text}"))
    }

    /// A cell that is a count.
    pub(crate) fn count(&self, index: usize, expected: &str) -> Result<u64> {
        parse_count(self.cell(index)).ok_or_else(|| self.unexpected_value(index, expected))
    }
}

/// A count, which is a whole number; spreadsheets and data frames write some as `24.0`.
pub(crate) fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = match text.split_once('.') {
        Some((whole, fraction))
            if !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0') =>
        {
            whole
        }
        _ => text,
    };
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count = is_digits.then(|| digits.parse().ok()).flatten();
    count.filter(|count| *count <= COUNT_MAX)
}

/// Larger counts cannot be read back from a run.
const COUNT_MAX: u64 = 1 << 53;
/// So much of a text is shown.
const SHOWN_MAX: usize = 40;

/// A text in a message, cut if it is long.
pub(crate) fn show_text(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<Vec<String>>> {
        let mut rows = Rows::new(Lines::new("f.csv".to_owned(), text.as_bytes()), ',');
        let mut all = vec![rows.header("a header")?];
        while rows.next_row()? {
            let cells = 0..rows.cells.len();
            all.push(cells.map(|index| rows.cell(index).to_owned()).collect());
        }
        Ok(all)
    }

    #[test]
    fn cells_are_split_as_in_rfc_4180() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert_eq!(rows(text).unwrap(), expected, "{text:?}");
        };
        check("a,b\n1,2\r\n", &[&["a", "b"], &["1", "2"]]);
        check("\u{feff}a,b\n\n,\n", &[&["a", "b"], &["", ""]]);
        check(
            "a,b\n\"x, \"\"y\"\"\",\"two\nlines\"\n",
            &[&["a", "b"], &["x, \"y\"", "two\nlines"]],
        );
        check("a,b\n\"\",é", &[&["a", "b"], &["", "é"]]);
    }

    #[test]
    fn mistakes_have_line_and_column() {
        let check = |text: &str, expected: &str| {
            assert_eq!(rows(text).unwrap_err().to_string(), expected, "{text:?}");
        };
        check("", "f.csv:1:1: expected a header, found an empty file");
        check(
            "a,b\n1,2\né,\"x\"y\n",
            "f.csv:3:6: expected ',' after the closing quote",
        );
        check("a,b\n1,\"x\n\n", "f.csv:2:3: the quote has no end");
        check(
            "a,b\n1,2,3\n",
            "f.csv:2:5: expected 2 cells as in the header, found 3",
        );
        check(
            "a,b\n1\n",
            "f.csv:2:1: expected 2 cells as in the header, found 1",
        );
    }

    #[test]
    fn counts_are_whole_numbers() {
        let check = |text: &str, expected| assert_eq!(parse_count(text), expected, "{text}");
        check("24", Some(24));
        check(" 24.00 ", Some(24));
        for text in [
            "24.5",
            "24.",
            ".0",
            "",
            "-1",
            "+1",
            "1e3",
            "99999999999999999999",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn bytes_that_are_no_text_have_their_place() {
        let mut lines = Lines::new("f".to_owned(), &b"ok\nab\xff\n"[..]);
        assert!(lines.next_line().unwrap());
        let mistake = lines.next_line().unwrap_err().to_string();
        assert_eq!(mistake, "f:2:3: not UTF-8 text");
    }
}
