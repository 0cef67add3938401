//! Iterates over the lines of a text, as slices of it; values are decoded on demand.

use super::{
    measurement_text, name_text, number,
    scan::{self, Fault, Keys, Names, Parts, Problem},
    string_text,
};
use crate::{FieldValue, Mistake, Precision, Record};

/// Iterator over the records of a text; see [`super::lines`].
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    /// Number of the line that starts at `at`.
    number: usize,
    keys: Keys,
    names: Names,
}

/// One line that holds a record, every part of it checked. Text is as written, escapes included.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// From the measurement to the last byte of the fields or the time; no line break at its end.
    pub raw: &'a str,
    /// Number of the line in the text, counted from 1.
    pub number: usize,
    pub time: Option<Time>,
    /// Characters of the text's line before `raw`.
    indent: usize,
    measurement_end: usize,
    series_end: usize,
    fields_start: usize,
    fields_end: usize,
}

/// The time of a line, in the unit of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    pub value: i64,
    /// Offset of its first byte in [`Line::raw`], which it ends.
    pub at: usize,
}

/// A tag as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag<'a> {
    pub key: &'a str,
    pub value: &'a str,
}

/// A field: its key as written, and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field<'a> {
    pub key: &'a str,
    pub value: RawValue<'a>,
}

/// A field's value; a text is as written between its quotes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RawValue<'a> {
    Float(f64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Text(&'a str),
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            // A byte order mark is no part of the first name.
            text: text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text),
            at: 0,
            number: 1,
            keys: Keys::default(),
            names: Names::Printable,
        }
    }

    pub(super) fn with_names(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Skips blank lines and comments; `None` at the end of the text. Leaves `self.at` at the start of a line.
    fn find_line(&mut self) -> Option<usize> {
        while self.at < self.text.len() {
            let start = scan::spaces_end(self.text, self.at);
            let next = match self.text.get(start) {
                Some(b'#') => Some(self.after_newline(start)),
                Some(b'\t' | b'\r' | b'\n') | None => self.blank_end(start),
                Some(_) => None,
            };
            let Some(next) = next else { return Some(start) };
            self.at = next;
            self.number += 1;
        }
        None
    }

    /// Where the next line starts, if nothing but white space is left of this one.
    fn blank_end(&self, start: usize) -> Option<usize> {
        let end = memchr::memchr(b'\n', &self.text[start..])
            .map_or(self.text.len(), |newline| start + newline);
        let is_blank = self.text[start..end]
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        is_blank.then(|| (end + 1).min(self.text.len()))
    }

    fn after_newline(&self, start: usize) -> usize {
        memchr::memchr(b'\n', &self.text[start..])
            .map_or(self.text.len(), |newline| start + newline + 1)
    }

    /// The line as text, unless it is not UTF-8.
    fn line(&self, parts: &Parts) -> Result<Line<'a>, Fault> {
        let raw =
            std::str::from_utf8(&self.text[parts.start..parts.end]).map_err(|error| Fault {
                at: parts.start + error.valid_up_to(),
                problem: Problem::Plain("the text is not UTF-8 here".into()),
            })?;
        Ok(Line {
            raw,
            number: self.number,
            time: parts.time.map(|(value, offset, _)| Time {
                value,
                at: offset - parts.start,
            }),
            indent: parts.start - self.at,
            measurement_end: parts.measurement_end - parts.start,
            series_end: parts.series_end - parts.start,
            fields_start: parts.fields_start - parts.start,
            fields_end: parts.fields_end - parts.start,
        })
    }

    fn mistake(&self, fault: Fault) -> Mistake {
        let problem = match fault.problem {
            Problem::Plain(problem) => problem,
            Problem::Expected(wanted) => format!("{wanted}, found {}", self.excerpt(fault.at)),
        };
        let before = &self.text[self.at..fault.at];
        let line = self.number + memchr::memchr_iter(b'\n', before).count();
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        Mistake::new(line, 1 + characters(&before[line_start..]), problem)
    }

    /// The text at `start`, for a message: up to the next comma, space or line break.
    fn excerpt(&self, start: usize) -> String {
        if scan::line_end(self.text, start).is_some() {
            return "the end of the line".into();
        }
        let rest = &self.text[start..];
        let end = rest
            .iter()
            .skip(1)
            .position(|byte| matches!(byte, b',' | b' ' | b'\n' | b'\r'))
            .map_or(rest.len(), |end| end + 1);
        match rest[0] {
            b' ' => "a space".into(),
            b',' => "a comma".into(),
            _ => scan::excerpt(&rest[..end]),
        }
    }
}

/// Number of characters in a piece of a line, which may be invalid UTF-8: every byte that does not continue a character.
fn characters(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .filter(|&&byte| !matches!(byte, 0x80..=0xBF))
        .count()
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<Line<'a>, Mistake>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.find_line()?;
        let scanned = scan::scan(self.text, start, &mut self.keys, self.names);
        let line = scanned.and_then(|parts| Ok((self.line(&parts)?, parts)));
        Some(match line {
            Ok((line, parts)) => {
                self.at = parts.next;
                self.number += 1 + parts.breaks;
                Ok(line)
            }
            Err(fault) => {
                let next = self.after_newline(fault.at);
                let mistake = self.mistake(fault);
                self.at = next;
                self.number = mistake.line + 1;
                Err(mistake)
            }
        })
    }
}

impl<'a> Line<'a> {
    /// The measurement as written; [`measurement_text`] decodes it.
    #[must_use]
    pub fn measurement(&self) -> &'a str {
        &self.raw[..self.measurement_end]
    }

    /// Measurement and tags as written.
    #[must_use]
    pub fn series(&self) -> &'a str {
        &self.raw[..self.series_end]
    }

    /// The tags as written, `key=value,key=value`; empty if there are none.
    #[must_use]
    pub fn tags_raw(&self) -> &'a str {
        self.raw[self.measurement_end..self.series_end].trim_start_matches(',')
    }

    /// The fields as written, `key=value,key=value`.
    #[must_use]
    pub fn fields_raw(&self) -> &'a str {
        &self.raw[self.fields_start..self.fields_end]
    }

    /// The tags in the order given.
    #[must_use]
    pub fn tags(&self) -> Tags<'a> {
        Tags {
            rest: self.tags_raw(),
        }
    }

    /// The fields in the order given.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            rest: self.fields_raw(),
        }
    }

    /// The time in nanoseconds.
    pub fn time_ns(&self, precision: Precision) -> Result<Option<i64>, Mistake> {
        let Some(time) = self.time else {
            return Ok(None);
        };
        let ns = precision.to_ns(time.value);
        ns.map(Some)
            .ok_or_else(|| self.time_out_of_range(precision.plural()))
    }

    /// The mistake of a time that no record can have, in a unit.
    pub fn time_out_of_range(&self, unit: &str) -> Mistake {
        let value = self.time.map_or(0, |time| time.value);
        self.time_mistake(format!(
            "expected a time between 1677-09-21 and 2262-04-11, found {value} {unit}"
        ))
    }

    /// A mistake at the place of the time, or of the line if it has none.
    pub fn time_mistake(&self, problem: String) -> Mistake {
        let Some(time) = self.time else {
            return Mistake::new(self.number, 1 + self.indent, problem);
        };
        let line_start = memchr::memrchr(b'\n', &self.raw.as_bytes()[..time.at]);
        let before = &self.raw[line_start.map_or(0, |newline| newline + 1)..time.at];
        let indent = if line_start.is_none() { self.indent } else { 0 };
        Mistake::new(
            self.number + memchr::memchr_iter(b'\n', &self.raw.as_bytes()[..time.at]).count(),
            1 + indent + before.chars().count(),
            problem,
        )
    }

    /// The record of the line.
    pub fn to_record(&self, precision: Precision) -> Result<Record, Mistake> {
        let tag = |tag: Tag<'_>| {
            (
                name_text(tag.key).into_owned(),
                name_text(tag.value).into_owned(),
            )
        };
        let field = |field: Field<'_>| (name_text(field.key).into_owned(), field.value.to_value());
        Ok(Record {
            measurement: measurement_text(self.measurement()).into_owned(),
            tags: self.tags().map(tag).collect(),
            fields: self.fields().map(field).collect(),
            time_ns: self.time_ns(precision)?,
        })
    }
}

impl RawValue<'_> {
    /// The decoded value.
    #[must_use]
    pub fn to_value(self) -> FieldValue {
        match self {
            Self::Float(value) => FieldValue::Float(value),
            Self::Integer(value) => FieldValue::Integer(value),
            Self::Unsigned(value) => FieldValue::Unsigned(value),
            Self::Boolean(value) => FieldValue::Boolean(value),
            Self::Text(raw) => FieldValue::Text(string_text(raw).into_owned()),
        }
    }
}

/// Iterator over the tags of a line.
#[derive(Debug, Clone)]
pub struct Tags<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (key, rest) = split_name(self.rest);
        let (value, rest) = split_name(rest);
        self.rest = rest;
        Some(Tag { key, value })
    }
}

/// Iterator over the fields of a line.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (key, rest) = split_name(self.rest);
        if let Some(inside) = rest.strip_prefix('"') {
            let end = scan::closing_quote(inside.as_bytes())
                .expect("the scan took only lines whose quotes are closed");
            self.rest = rest.get(end + 3..).unwrap_or("");
            return Some(Field {
                key,
                value: RawValue::Text(&inside[..end]),
            });
        }
        let (value, rest) = split_at_byte(rest, memchr::memchr(b',', rest.as_bytes()));
        self.rest = rest;
        Some(Field {
            key,
            value: number::value(value),
        })
    }
}

/// A name, and the text after the comma or equals sign that follows it.
fn split_name(text: &str) -> (&str, &str) {
    let end = scan::name_end_in(text.as_bytes());
    split_at_byte(text, (end < text.len()).then_some(end))
}

fn split_at_byte(text: &str, position: Option<usize>) -> (&str, &str) {
    position.map_or((text, ""), |position| {
        (&text[..position], &text[position + 1..])
    })
}
