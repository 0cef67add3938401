//! CSV as in RFC 4180 with a header row: one record per row, with types by column.
//!
//! The rows are split here and not by a crate because a mistake needs the line and column of its cell. A column has integers,
//! floats or booleans if all its cells do; integers in a column with floats are floats; anything else is text. An empty cell is
//! an absent field or tag.

use std::{borrow::Cow, collections::HashSet};

use crate::{
    Columns, FieldValue, Mistake, Precision, Record, line_protocol,
    names::{check_name, over_limit},
    source_text::{Mistakes, SourceText},
    time,
};

/// Every record of a table, or the mistakes.
pub fn read(
    text: &[u8],
    columns: &Columns,
    precision: Precision,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut mistakes = Mistakes::default();
    let mut rows = Rows {
        text: source.text,
        // Spreadsheets begin a file with a byte order mark.
        at: if source.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
    };
    let Some(header) = rows.next_row(source, &mut mistakes) else {
        mistakes.add(source.mistake(0, "expected a header row, found an empty file".into()));
        return mistakes.into_result(Vec::new());
    };
    if header.is_empty() {
        return mistakes.into_result(Vec::new());
    }
    let roles = roles(source, &header, columns, &mut mistakes);
    let mut table = Vec::new();
    while let Some(row) = rows.next_row(source, &mut mistakes) {
        if row.len() == header.len() {
            table.push(row);
        } else if !row.is_empty() {
            let problem = format!(
                "expected {} cells as in the header, found {}",
                header.len(),
                row.len()
            );
            mistakes.add(source.mistake(row[0].at, problem));
        }
        if mistakes.is_full() {
            break;
        }
    }
    let kinds: Vec<Option<Kind>> = (0..header.len())
        .map(|column| column_kind(&table, column))
        .collect();
    let reader = Reader {
        source,
        header: &header,
        roles: &roles,
        kinds: &kinds,
        columns,
        precision,
    };
    let records = table
        .iter()
        .filter_map(|row| reader.record(row, &mut mistakes))
        .collect();
    mistakes.into_result(records)
}

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Time,
    Tag,
    Field,
}

fn roles(
    source: SourceText<'_>,
    header: &[Cell<'_>],
    columns: &Columns,
    mistakes: &mut Mistakes,
) -> Vec<Role> {
    let mut seen = HashSet::new();
    let mut roles = Vec::with_capacity(header.len());
    for cell in header {
        if !seen.insert(&*cell.text) {
            let problem = format!("column {:?} occurs twice in the header", cell.text);
            mistakes.add(source.mistake(cell.at, problem));
        }
        if let Err(problem) = check_name("a column's name", &cell.text) {
            mistakes.add(source.mistake(cell.at, problem.to_string()));
        }
        roles.push(if columns.time.as_deref() == Some(&*cell.text) {
            Role::Time
        } else if columns.tags.iter().any(|tag| tag == &*cell.text) {
            Role::Tag
        } else {
            Role::Field
        });
    }
    let at = header.first().map_or(0, |cell| cell.at);
    for wanted in columns.time.iter().chain(&columns.tags) {
        if !seen.contains(&**wanted) {
            mistakes.add(source.mistake(at, format!("the header has no column {wanted:?}")));
        }
    }
    roles
}

struct Reader<'r> {
    source: SourceText<'r>,
    header: &'r [Cell<'r>],
    roles: &'r [Role],
    kinds: &'r [Option<Kind>],
    columns: &'r Columns,
    precision: Precision,
}

impl Reader<'_> {
    fn record(&self, row: &[Cell<'_>], mistakes: &mut Mistakes) -> Option<Record> {
        let mut record = Record {
            measurement: self.columns.measurement.clone(),
            tags: Vec::new(),
            fields: Vec::new(),
            time_ns: None,
        };
        let mut wrong = Vec::new();
        for (column, cell) in row.iter().enumerate() {
            let key = || self.header[column].text.clone().into_owned();
            match (self.roles[column], self.kinds[column]) {
                (Role::Time, _) => match self.time(&cell.text) {
                    Ok(time) => record.time_ns = Some(time),
                    Err(problem) => wrong.push((cell.at, problem)),
                },
                (_, None) => {}
                _ if cell.text.is_empty() => {}
                (Role::Tag, _) => {
                    if let Err(problem) = check_name("a tag value", &cell.text) {
                        wrong.push((cell.at, problem.to_string()));
                    }
                    record.tags.push((key(), cell.text.clone().into_owned()));
                }
                (Role::Field, Some(kind)) => record.fields.push((key(), kind.value(&cell.text))),
            }
        }
        if record.fields.is_empty() {
            wrong.push((row[0].at, "the row has no fields".into()));
        }
        wrong.extend(
            over_limit(record.tags.len(), record.fields.len()).map(|problem| (row[0].at, problem)),
        );
        let is_right = wrong.is_empty();
        for (at, problem) in wrong {
            mistakes.add(self.source.mistake(at, problem));
        }
        is_right.then_some(record)
    }

    fn time(&self, text: &str) -> Result<i64, String> {
        if text
            .strip_prefix('-')
            .unwrap_or(text)
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            && !text.is_empty()
        {
            time::from_integer(text, self.precision)
        } else {
            time::from_text(text)
        }
    }
}

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Unsigned,
    Float,
    Boolean,
    Text,
}

/// `None` if every cell is empty.
fn column_kind(table: &[Vec<Cell<'_>>], column: usize) -> Option<Kind> {
    let cells = table.iter().map(|row| &*row[column].text);
    cells
        .filter(|cell| !cell.is_empty())
        .map(Kind::detect)
        .reduce(Kind::widen)
}

impl Kind {
    fn detect(cell: &str) -> Self {
        if cell.parse::<i64>().is_ok() && !cell.starts_with('+') {
            Self::Integer
        } else if cell.parse::<u64>().is_ok() && !cell.starts_with('+') {
            Self::Unsigned
        } else if line_protocol::is_float(cell) && cell.contains(['.', 'e', 'E']) {
            Self::Float
        } else if matches!(cell, "true" | "false") {
            Self::Boolean
        } else {
            Self::Text
        }
    }

    /// The type that holds both.
    fn widen(self, other: Self) -> Self {
        let is_number = |kind| matches!(kind, Self::Integer | Self::Unsigned | Self::Float);
        if self == other {
            self
        } else if is_number(self) && is_number(other) {
            Self::Float
        } else {
            Self::Text
        }
    }

    fn value(self, cell: &str) -> FieldValue {
        let value = match self {
            Self::Integer => cell.parse().ok().map(FieldValue::Integer),
            Self::Unsigned => cell.parse().ok().map(FieldValue::Unsigned),
            Self::Float => cell.parse().ok().map(FieldValue::Float),
            Self::Boolean => cell.parse().ok().map(FieldValue::Boolean),
            Self::Text => None,
        };
        value.unwrap_or_else(|| FieldValue::Text(cell.to_owned()))
    }
}

/// A cell's text and the offset of its first byte, the quote included.
#[derive(Debug, Clone)]
struct Cell<'a> {
    text: Cow<'a, str>,
    at: usize,
}

struct Rows<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Rows<'a> {
    /// The cells of the next row that is not blank; none for a row with a mistake in its quotes.
    fn next_row(
        &mut self,
        source: SourceText<'_>,
        mistakes: &mut Mistakes,
    ) -> Option<Vec<Cell<'a>>> {
        while let Some(after) = line_break(&self.text[self.at..]) {
            self.at += after;
        }
        if self.at == self.text.len() {
            return None;
        }
        let mut row = Vec::new();
        loop {
            match self.cell() {
                Ok(cell) => row.push(cell),
                Err((at, problem)) => {
                    mistakes.add(source.mistake(at, problem.into()));
                    self.at = self.text[at..]
                        .find('\n')
                        .map_or(self.text.len(), |end| at + end + 1);
                    return Some(Vec::new());
                }
            }
            let rest = &self.text[self.at..];
            if let Some(after) = line_break(rest) {
                self.at += after;
                return Some(row);
            }
            if rest.is_empty() {
                return Some(row);
            }
            // A comma: no other byte ends the cell.
            self.at += 1;
        }
    }

    fn cell(&mut self) -> Result<Cell<'a>, (usize, &'static str)> {
        let at = self.at;
        let rest = &self.text[at..];
        let Some(inside) = rest.strip_prefix('"') else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            let text = if rest[end..].starts_with(',') {
                &rest[..end]
            } else {
                rest[..end].trim_end_matches('\r')
            };
            if let Some(quote) = text.find('"') {
                return Err((
                    at + quote,
                    "a cell with a quote in it must be quoted, and the quote doubled",
                ));
            }
            self.at += text.len();
            return Ok(Cell {
                text: Cow::Borrowed(text),
                at,
            });
        };
        let mut end = 0;
        loop {
            end += inside[end..]
                .find('"')
                .ok_or((at, "the quote that opens here is not closed"))?;
            if !inside[end + 1..].starts_with('"') {
                break;
            }
            end += 2;
        }
        self.at += end + 2;
        let rest = &self.text[self.at..];
        if !(rest.is_empty() || rest.starts_with(',') || line_break(rest).is_some()) {
            return Err((
                self.at,
                "expected a comma or the end of the row after the closing quote",
            ));
        }
        let text = &inside[..end];
        let text = if text.contains('"') {
            Cow::Owned(text.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(text)
        };
        Ok(Cell { text, at })
    }
}

/// Length of the line break at the start of the text.
fn line_break(text: &str) -> Option<usize> {
    if text.starts_with('\n') {
        Some(1)
    } else if text.starts_with("\r\n") {
        Some(2)
    } else {
        (text == "\r").then_some(1)
    }
}
