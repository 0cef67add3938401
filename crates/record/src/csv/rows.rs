//! Splits the text of a table into rows of cells. This is done here and not by a crate because a mistake needs the line and column
//! of its cell.

use std::borrow::Cow;

use super::wrong::{Wrong, Wrongs};
use crate::{DELIMITERS, Layout};

/// A cell's text and the offset of its first byte, the quote included.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) at: usize,
    pub(super) is_quoted: bool,
}

impl Cell<'_> {
    /// Whether nothing is between the delimiters, no quotes either.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.text, Cow::Borrowed("")) && !self.is_quoted
    }
}

pub(super) struct Rows<'a> {
    text: &'a str,
    at: usize,
    pub(super) delimiter: char,
    comment: Option<String>,
}

impl<'a> Rows<'a> {
    /// The rows of a text from its header row on.
    pub(super) fn new(text: &'a str, layout: &Layout) -> Self {
        let mut rows = Self {
            text,
            at: 0,
            delimiter: ',',
            comment: layout.comment.clone(),
        };
        rows.skip_lines(layout.skip_lines);
        rows.skip_blank();
        rows.delimiter = layout
            .delimiter
            .unwrap_or_else(|| likely_delimiter(first_line(&rows.text[rows.at..])));
        rows
    }

    /// Leaves out so many lines, whatever is in them.
    pub(super) fn skip_lines(&mut self, count: usize) {
        for _ in 0..count {
            self.skip_line();
        }
    }

    fn skip_line(&mut self) {
        self.at = self.text[self.at..]
            .find('\n')
            .map_or(self.text.len(), |end| self.at + end + 1);
    }

    /// Leaves out blank lines and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            if let Some(after) = line_break(rest) {
                self.at += after;
            } else if let Some(comment) = &self.comment
                && !rest.is_empty()
                && rest.starts_with(&**comment)
            {
                self.skip_line();
            } else {
                return;
            }
        }
    }

    /// The cells of the next row that is not blank; none for a row with a mistake in its quotes.
    pub(super) fn next_row(&mut self, wrongs: &mut Wrongs) -> Option<Vec<Cell<'a>>> {
        self.skip_blank();
        if self.at == self.text.len() {
            return None;
        }
        let mut row = Vec::new();
        loop {
            match self.cell() {
                Ok(cell) => row.push(cell),
                Err((offset, problem)) => {
                    wrongs.add(Wrong::new(offset, problem));
                    self.at = offset;
                    self.skip_line();
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
            // A delimiter, which is one byte long: no other byte ends the cell.
            self.at += 1;
        }
    }

    fn cell(&mut self) -> Result<Cell<'a>, (usize, String)> {
        let start = self.at;
        let rest = &self.text[start..];
        if let Some(inside) = rest.strip_prefix('"') {
            return self.quoted_cell(start, inside);
        }
        let end = rest.find([self.delimiter, '\n']).unwrap_or(rest.len());
        let text = if rest[end..].starts_with(self.delimiter) {
            &rest[..end]
        } else {
            rest[..end].trim_end_matches('\r')
        };
        if let Some(quote) = text.find('"') {
            let problem = "a cell with a quote in it must be quoted, and the quote doubled";
            return Err((start + quote, problem.into()));
        }
        self.at += text.len();
        Ok(Cell {
            text: Cow::Borrowed(text),
            at: start,
            is_quoted: false,
        })
    }

    fn quoted_cell(&mut self, start: usize, inside: &'a str) -> Result<Cell<'a>, (usize, String)> {
        let mut end = 0;
        loop {
            end += inside[end..]
                .find('"')
                .ok_or_else(|| (start, "the quote that opens here is not closed".into()))?;
            if !inside[end + 1..].starts_with('"') {
                break;
            }
            end += 2;
        }
        self.at += end + 2;
        let rest = &self.text[self.at..];
        if !(rest.is_empty() || rest.starts_with(self.delimiter) || line_break(rest).is_some()) {
            let delimiter = match self.delimiter {
                ',' => "a comma",
                ';' => "a semicolon",
                '\t' => "a tab",
                _ => "a vertical bar",
            };
            let problem =
                format!("expected {delimiter} or the end of the row after the closing quote");
            return Err((self.at, problem));
        }
        let text = &inside[..end];
        let text = if text.contains('"') {
            Cow::Owned(text.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(text)
        };
        Ok(Cell {
            text,
            at: start,
            is_quoted: true,
        })
    }
}

/// The delimiter that the line has most of outside of quotes; of as many the first of [`DELIMITERS`].
pub(crate) fn likely_delimiter(line: &str) -> char {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for character in line.chars() {
        if character == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted
            && let Some(index) = DELIMITERS.iter().position(|&known| known == character)
        {
            counts[index] += 1;
        }
    }
    let most = counts.iter().max().copied().unwrap_or_default();
    let first = counts.iter().position(|&count| count == most);
    DELIMITERS[first.unwrap_or_default()]
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
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
