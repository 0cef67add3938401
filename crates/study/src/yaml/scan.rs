//! One pass over a YAML text that knows quotes, comments, block scalars and brackets, and nothing else: which lines continue a
//! flow collection or a quoted text, and which bracket or quote stays open.

use std::collections::BTreeMap;

/// Spaces to insert before a line, counted from 1.
pub(super) type Pads = BTreeMap<usize, usize>;

/// Line and column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

/// A bracket or quote, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub sign: char,
    pub place: Place,
}

/// A quoted text over several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LongQuote {
    pub open: Mark,
    /// Its closing quote.
    pub end: Place,
    /// One of its lines looks like a key with its value: the quote was probably not meant to reach so far.
    pub has_key: bool,
}

/// What the pass found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Brackets that are open, the innermost last.
    brackets: Vec<Mark>,
    quote: Option<Mark>,
    /// The scalar that is being read may continue on the next line.
    plain: bool,
    block_scalar: Option<BlockScalar>,
    /// Column (from 0) of the key or dash that the value belongs to; -1 at the root.
    parent: isize,
    /// A key at the column of `parent` or before it was seen inside the open brackets.
    passed_key: bool,
    quote_has_key: bool,
    pads: Pads,
    /// Total of `pads`.
    inserted: usize,
    unclosed: Option<Mark>,
    pub long_quotes: Vec<LongQuote>,
}

/// A literal or folded text.
#[derive(Debug, Clone, Copy)]
enum BlockScalar {
    /// Before its first line; it is indented deeper than this column.
    Below(isize),
    /// Every line with at least this indentation belongs to it.
    From(isize),
}

/// What a line looks like before its tokens are read.
struct Line {
    chars: Vec<char>,
    number: usize,
    indent: usize,
}

impl Scan {
    pub(super) fn new(text: &str) -> Self {
        let mut scan = Self {
            parent: -1,
            ..Self::default()
        };
        // A carriage return alone breaks lines, too; such texts are left as they are.
        let has_lone_return = text.replace("\r\n", "").contains('\r');
        for (line, number) in text.split('\n').zip(1..) {
            let stop = has_lone_return || scan.unclosed.is_some();
            if stop || !scan.read_line(line.trim_end_matches('\r'), number) {
                break;
            }
        }
        if scan.unclosed.is_none() {
            scan.unclosed = scan.brackets.first().copied();
        }
        if scan.unclosed.is_some() || scan.quote.is_some() || scan.inserted > text.len() + 4096 {
            scan.pads.clear();
        }
        scan
    }

    /// None if something stays open: then nothing is known of the lines after it.
    pub(super) fn pads(&self) -> &Pads {
        &self.pads
    }

    /// The bracket that has no end of its own.
    pub(super) fn unclosed_bracket(&self) -> Option<Mark> {
        self.unclosed
    }

    pub(super) fn unclosed_quote(&self) -> Option<Mark> {
        self.quote
    }

    /// Whether more lines can be read.
    fn read_line(&mut self, text: &str, number: usize) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let indent = chars.iter().take_while(|c| **c == ' ').count();
        let is_blank = chars.iter().all(|c| matches!(c, ' ' | '\t'));
        let line = Line {
            chars,
            number,
            indent,
        };
        let is_marker = is_document_marker(text);
        if is_blank || (!is_marker && self.is_in_block_scalar(&line)) {
            return true;
        }
        let is_inside = self.quote.is_some() || !self.brackets.is_empty();
        if is_marker {
            self.block_scalar = None;
            if is_inside {
                return false;
            }
            self.parent = -1;
            self.plain = false;
            self.read_tokens(&line, 3);
            return true;
        }
        if is_inside {
            self.pad(&line);
            self.note_key(&line);
        } else if !(self.plain && to_signed(indent) > self.parent) {
            self.plain = false;
            self.parent = to_signed(indent) - 1;
        }
        self.read_tokens(&line, indent);
        true
    }

    fn is_in_block_scalar(&mut self, line: &Line) -> bool {
        let indent = to_signed(line.indent);
        let is_inside = match self.block_scalar {
            None => false,
            Some(BlockScalar::Below(parent)) => indent > parent,
            Some(BlockScalar::From(first)) => indent >= first,
        };
        self.block_scalar = match self.block_scalar {
            _ if !is_inside => None,
            Some(BlockScalar::Below(_)) => Some(BlockScalar::From(indent)),
            other => other,
        };
        is_inside
    }

    fn pad(&mut self, line: &Line) {
        let needed = usize::try_from(self.parent + 1).unwrap_or(0);
        if line.indent < needed {
            self.pads.insert(line.number, needed - line.indent);
            self.inserted += needed - line.indent;
        }
    }

    fn note_key(&mut self, line: &Line) {
        let text = &line.chars[line.indent..];
        if looks_like_key(text) || text.starts_with(&['-', ' ']) {
            self.quote_has_key |= self.quote.is_some();
            self.passed_key |= to_signed(line.indent) <= self.parent;
        }
    }

    fn read_tokens(&mut self, line: &Line, start: usize) {
        let mut index = start;
        // Where a key may have begun on this line.
        let mut first = start;
        let mut may_be_comment = true;
        while index < line.chars.len() && self.unclosed.is_none() {
            if self.quote.is_some() {
                index = self.read_quoted(line, index);
                may_be_comment = false;
                continue;
            }
            let c = line.chars[index];
            let ends_word = is_blank_at(line, index + 1);
            if c == '#' && may_be_comment {
                self.plain = false;
                return;
            }
            may_be_comment = matches!(c, ' ' | '\t');
            let in_flow = !self.brackets.is_empty();
            if c == ':' && (ends_word || (in_flow && is_flow_at(line, index + 1)) || !self.plain) {
                self.plain = false;
                if !in_flow {
                    self.parent = to_signed(first);
                }
            } else if self.plain && !(in_flow && is_flow_sign(c)) {
                // One more character of a plain scalar.
            } else {
                self.plain = false;
                match c {
                    ' ' | '\t' => {}
                    '-' | '?' if ends_word && !in_flow => {
                        self.parent = to_signed(index);
                        first = after_blanks(line, index + 1);
                    }
                    '|' | '>' if !in_flow => {
                        self.begin_block_scalar(line, index);
                        return;
                    }
                    '!' | '&' | '*' => {
                        index = end_of_word(line, index, in_flow);
                        continue;
                    }
                    _ => self.read_sign(c, line, index),
                }
            }
            index += 1;
        }
    }

    /// A sign that begins a token and is one character long.
    fn read_sign(&mut self, sign: char, line: &Line, index: usize) {
        let place = Place {
            line: line.number,
            column: index + 1,
        };
        let mark = Mark { sign, place };
        match sign {
            '[' | '{' => {
                if self.brackets.is_empty() {
                    self.passed_key = false;
                }
                self.brackets.push(mark);
            }
            ']' | '}' => self.close(sign),
            '"' | '\'' => {
                self.quote = Some(mark);
                self.quote_has_key = false;
            }
            ',' if !self.brackets.is_empty() => {}
            _ => self.plain = true,
        }
    }

    fn close(&mut self, sign: char) {
        let Some(open) = self.brackets.last().copied() else {
            return;
        };
        if closing_sign(open.sign) == sign {
            self.brackets.pop();
        } else if self.passed_key {
            self.unclosed = self.brackets.first().copied();
        } else {
            self.unclosed = Some(open);
        }
    }

    /// Reads on in a quoted text; returns where the line continues.
    fn read_quoted(&mut self, line: &Line, start: usize) -> usize {
        let Some(open) = self.quote else {
            return start;
        };
        let from_open = open.place.line == line.number && start == open.place.column - 1;
        let mut index = start + usize::from(from_open);
        while let Some(&c) = line.chars.get(index) {
            let is_escape = match open.sign {
                '"' => c == '\\',
                _ => c == '\'' && line.chars.get(index + 1) == Some(&'\''),
            };
            if is_escape {
                index += 2;
            } else if c == open.sign {
                self.end_quote(open, line.number, index);
                return index + 1;
            } else {
                index += 1;
            }
        }
        line.chars.len()
    }

    fn end_quote(&mut self, open: Mark, line: usize, index: usize) {
        self.quote = None;
        let end = Place {
            line,
            column: index + 1,
        };
        if open.place.line < line {
            self.long_quotes.push(LongQuote {
                open,
                end,
                has_key: self.quote_has_key,
            });
        }
    }

    fn begin_block_scalar(&mut self, line: &Line, index: usize) {
        let header = line.chars[index + 1..].iter().take(2);
        let mut digits = header.filter_map(|c| "0123456789".find(*c));
        self.block_scalar = Some(match digits.next() {
            Some(indent) => BlockScalar::From(self.parent.max(0) + to_signed(indent)),
            None => BlockScalar::Below(self.parent),
        });
    }
}

/// Whether a line is a key with its value or without: `name:`, `"name": 1`, `- name: 1`.
fn looks_like_key(line: &[char]) -> bool {
    let text: String = line.iter().collect();
    let text = text.trim_start_matches("- ").trim();
    let with_value = text.split_once(": ").map(|(key, _)| key);
    let Some(key) = with_value.or_else(|| text.strip_suffix(':')) else {
        return false;
    };
    let key = key.trim_matches(['"', '\'']);
    let is_in_key = |c: char| c.is_alphanumeric() || "_-./$".contains(c);
    !key.is_empty() && key.chars().all(is_in_key)
}

pub(super) fn closing_sign(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

fn is_document_marker(text: &str) -> bool {
    ["---", "..."].iter().any(|marker| {
        text.strip_prefix(marker)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

fn is_blank_at(line: &Line, index: usize) -> bool {
    line.chars
        .get(index)
        .is_none_or(|c| matches!(c, ' ' | '\t'))
}

fn is_flow_at(line: &Line, index: usize) -> bool {
    line.chars.get(index).is_some_and(|c| is_flow_sign(*c))
}

fn is_flow_sign(c: char) -> bool {
    matches!(c, ',' | '[' | ']' | '{' | '}')
}

fn after_blanks(line: &Line, index: usize) -> usize {
    let rest = line.chars.get(index..).unwrap_or_default();
    index + rest.iter().take_while(|c| matches!(c, ' ' | '\t')).count()
}

fn end_of_word(line: &Line, index: usize, in_flow: bool) -> usize {
    let is_end = |c: &char| matches!(c, ' ' | '\t') || (in_flow && is_flow_sign(*c));
    let rest = &line.chars[index + 1..];
    index + 1 + rest.iter().take_while(|c| !is_end(c)).count()
}

fn to_signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX - 1)
}
