//! Converts offsets in a text to lines and columns.

use crate::{MISTAKES_MAX, Mistake, TABLE_MISTAKES_MAX};

/// A text, or one line of a longer text, in which mistakes are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'a> {
    pub(crate) text: &'a str,
    /// The number of the text's first line.
    pub(crate) first_line: usize,
    /// Characters of the first line before the text.
    pub(crate) columns_before: usize,
}

impl<'a> SourceText<'a> {
    /// The whole of `bytes` without a byte order mark, unless they are not UTF-8.
    pub(crate) fn parse_utf8(bytes: &'a [u8]) -> Result<Self, Vec<Mistake>> {
        match std::str::from_utf8(bytes) {
            // Spreadsheets begin a file with a byte order mark.
            Ok(text) => Ok(Self {
                text: text.strip_prefix('\u{feff}').unwrap_or(text),
                first_line: 1,
                columns_before: 0,
            }),
            Err(error) => {
                let (valid, _) = bytes.split_at(error.valid_up_to());
                let text = std::str::from_utf8(valid).unwrap_or_default();
                let source = Self {
                    text,
                    first_line: 1,
                    columns_before: 0,
                };
                Err(vec![
                    source.mistake(text.len(), "the text is not UTF-8 here".into()),
                ])
            }
        }
    }

    /// The problem with its line and column; `offset` is an offset of a character in the text, or its end.
    pub(crate) fn mistake(&self, offset: usize, problem: String) -> Mistake {
        let (line, column) = self.place(offset);
        Mistake::new(line, column, problem)
    }

    /// Line and column of an offset of a character in the text, or of its end.
    pub(crate) fn place(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let (line_start, columns_before) = match before.rfind('\n') {
            Some(newline) => (newline + 1, 0),
            None => (0, self.columns_before),
        };
        (
            self.first_line + memchr::memchr_iter(b'\n', before.as_bytes()).count(),
            1 + columns_before + before[line_start..].chars().count(),
        )
    }

    /// A piece of this text that lies after another one, whose text begins at an offset of this one.
    pub(crate) fn piece_after(&self, from: usize, last: Self, piece: &'a str) -> (usize, Self) {
        let start = self.offset_of(piece);
        let passed = Self {
            text: self.text.get(from..start).unwrap_or_default(),
            ..last
        };
        let (line, column) = passed.place(passed.text.len());
        let source = Self {
            text: piece,
            first_line: line,
            columns_before: column - 1,
        };
        (start, source)
    }

    /// The offset of a piece of this text.
    pub(crate) fn offset_of(&self, piece: &str) -> usize {
        (piece.as_ptr().addr())
            .saturating_sub(self.text.as_ptr().addr())
            .min(self.text.len())
    }
}

/// The mistakes found so far, up to a limit.
#[derive(Debug)]
pub(crate) struct Mistakes {
    found: Vec<Mistake>,
    max: usize,
}

impl Default for Mistakes {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            max: MISTAKES_MAX,
        }
    }
}

impl Mistakes {
    /// The mistakes of a text whose rows repeat them.
    pub(crate) fn of_table() -> Self {
        Self {
            max: TABLE_MISTAKES_MAX,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, mistake: Mistake) {
        if !self.is_full() {
            self.found.push(mistake);
        }
    }

    /// No more mistakes are kept; a reader can stop.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= self.max
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The value, if there are no mistakes.
    pub(crate) fn into_result<T>(mut self, value: T) -> Result<T, Vec<Mistake>> {
        if self.found.is_empty() {
            return Ok(value);
        }
        self.found
            .sort_by_key(|mistake| (mistake.line, mistake.column));
        Err(self.found)
    }
}
