//! Writes a record as one line of line protocol, escaped so that reading gives the same record.

use std::io::Write as _;

use crate::{
    FieldValue, Record, Unwritable,
    names::{check_measurement, check_name},
};

/// Appends the record as one line with its line break; the time in nanoseconds, left out if the record has none. On an error
/// `out` is as it was.
pub fn write(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let start = out.len();
    let written = write_line(record, out);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn write_line(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    write_series(&record.measurement, &record.tags, out)?;
    write_fields(&record.fields, out)?;
    if let Some(time) = record.time_ns {
        write!(out, " {time}").expect("writing to memory does not fail");
    }
    out.push(b'\n');
    Ok(())
}

/// Measurement and tags.
pub(crate) fn write_series(
    measurement: &str,
    tags: &[(String, String)],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    check_measurement(measurement)?;
    write_name("the measurement", measurement, b", ", out)?;
    for (key, value) in tags {
        out.push(b',');
        write_name("a tag key", key, b",= ", out)?;
        out.push(b'=');
        write_name("a tag value", value, b",= ", out)?;
    }
    Ok(())
}

/// A space and the fields.
pub(crate) fn write_fields(
    fields: &[(String, FieldValue)],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    if fields.is_empty() {
        return Err(Unwritable::NoFields);
    }
    for (index, (key, value)) in fields.iter().enumerate() {
        out.push(if index == 0 { b' ' } else { b',' });
        write_name("a field key", key, b",= ", out)?;
        out.push(b'=');
        write_value(key, value, out)?;
    }
    Ok(())
}

fn write_name(
    part: &'static str,
    text: &str,
    escaped: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    check_name(part, text)?;
    write_escaped(text, escaped, out);
    Ok(())
}

fn write_escaped(text: &str, escaped: &[u8], out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        if escaped.contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

fn write_value(key: &str, value: &FieldValue, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    match value {
        FieldValue::Float(value) if !value.is_finite() => {
            let (key, value) = (key.to_owned(), *value);
            return Err(Unwritable::NotFinite { key, value });
        }
        // The shortest text that reads back as the same float, with an exponent if that is shorter.
        FieldValue::Float(value) => write!(out, "{value:?}"),
        FieldValue::Integer(value) => write!(out, "{value}i"),
        FieldValue::Unsigned(value) => write!(out, "{value}u"),
        FieldValue::Boolean(value) => write!(out, "{value}"),
        FieldValue::Text(text) => {
            out.push(b'"');
            write_escaped(text, b"\"\\", out);
            out.push(b'"');
            Ok(())
        }
    }
    .expect("writing to memory does not fail");
    Ok(())
}
