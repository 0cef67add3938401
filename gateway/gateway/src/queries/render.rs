//! Stored records as JSON.

use waggle_record::{
    FieldValue,
    line_protocol::{self, Line, RawValue, name_text, string_text},
};

use crate::log::store::Entry;

/// A stored record that is not valid line protocol: the file was changed by another program.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a stored record cannot be read")]
pub(crate) struct Corrupt;

/// The line of an entry.
pub(crate) fn line<'a>(entry: &Entry<'a>) -> Result<Line<'a>, Corrupt> {
    line_protocol::stored_lines(entry.line)
        .next()
        .and_then(Result::ok)
        .ok_or(Corrupt)
}

/// The tags and fields to show; empty means all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection(pub(crate) Vec<String>);

impl Selection {
    pub(crate) fn shows(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|selected| selected == name)
    }
}

/// What the log knows of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogPosition {
    pub(crate) offset: i64,
    /// When it was committed, in nanoseconds since 1970, if that is to be shown and known.
    pub(crate) committed: Option<i64>,
}

/// One line of NDJSON: offset, commit instant, time, measurement, tags, fields, in this order.
pub(crate) fn record(
    out: &mut Vec<u8>,
    position: LogPosition,
    time: i64,
    line: &Line<'_>,
    selection: &Selection,
) {
    out.extend_from_slice(b"{\"offset\":");
    integer(out, position.offset);
    if let Some(committed) = position.committed {
        out.extend_from_slice(b",\"committed\":");
        integer(out, committed);
    }
    out.push(b',');
    members(out, time, line, selection);
}

/// One line of NDJSON: time, measurement, tags, fields, in this order.
pub(crate) fn reading(out: &mut Vec<u8>, time: i64, line: &Line<'_>) {
    out.push(b'{');
    members(out, time, line, &Selection::default());
}

fn members(out: &mut Vec<u8>, time: i64, line: &Line<'_>, selection: &Selection) {
    out.extend_from_slice(b"\"time\":");
    integer(out, time);
    out.extend_from_slice(b",\"measurement\":");
    text(out, &line_protocol::measurement_text(line.measurement()));
    out.extend_from_slice(b",\"tags\":");
    tags(out, line, selection);
    out.extend_from_slice(b",\"fields\":");
    fields(out, line, selection);
    out.extend_from_slice(b"}\n");
}

/// An object of the selected tags.
pub(crate) fn tags(out: &mut Vec<u8>, line: &Line<'_>, selection: &Selection) {
    let mut object = Object::begin(out);
    for tag in line.tags() {
        let key = name_text(tag.key);
        if selection.shows(&key) {
            text(object.member(&key), &name_text(tag.value));
        }
    }
    object.end();
}

/// An object of the selected fields; returns their number.
pub(crate) fn fields(out: &mut Vec<u8>, line: &Line<'_>, selection: &Selection) -> usize {
    let mut object = Object::begin(out);
    for field in line.fields() {
        let key = name_text(field.key);
        if selection.shows(&key) {
            value(object.member(&key), field.value);
        }
    }
    object.end()
}

/// A JSON object being written.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    members: usize,
}

impl<'a> Object<'a> {
    pub(crate) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, members: 0 }
    }

    /// Writes a key; its value must follow.
    pub(crate) fn member(&mut self, key: &str) -> &mut Vec<u8> {
        if self.members > 0 {
            self.out.push(b',');
        }
        self.members += 1;
        text(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(crate) fn end(self) -> usize {
        self.out.push(b'}');
        self.members
    }
}

fn value(out: &mut Vec<u8>, value: RawValue<'_>) {
    match value {
        RawValue::Float(value) => float(out, value),
        RawValue::Integer(value) => integer(out, value),
        RawValue::Unsigned(value) => {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes())
        }
        RawValue::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        RawValue::Text(raw) => text(out, &string_text(raw)),
    }
}

pub(crate) fn value_of(out: &mut Vec<u8>, value: &FieldValue) {
    match value {
        FieldValue::Float(value) => float(out, *value),
        FieldValue::Integer(value) => integer(out, *value),
        FieldValue::Unsigned(value) => {
            out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes())
        }
        FieldValue::Boolean(value) => {
            out.extend_from_slice(if *value { b"true" } else { b"false" })
        }
        FieldValue::Text(value) => text(out, value),
    }
}

/// Size of a text as JSON, or a little more.
pub(crate) fn text_bytes(text: &str) -> usize {
    let bytes = text.bytes().map(|byte| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    });
    bytes.sum::<usize>() + 2
}

/// The shortest text that reads back as the same number.
pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    serde_json::to_writer(out, &value)
        .expect("writing to a Vec cannot fail, and a non-finite number is null");
}

pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text).expect("a Vec takes everything");
    }
}
