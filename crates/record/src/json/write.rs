//! Writes records as JSON, in the shape that the readers accept.

use std::io::Write as _;

use crate::{
    FieldValue, Record, Unwritable,
    names::{check_measurement, check_name},
};

/// Appends the record as one object, without a line break; the time in nanoseconds, left out if the record has none. On an error
/// `out` is as it was.
pub fn write(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let start = out.len();
    let written = write_object(record, out);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends the records as an array of objects. On an error `out` is as it was.
pub fn write_all(records: &[Record], out: &mut Vec<u8>) -> Result<(), Unwritable> {
    let start = out.len();
    for (index, record) in records.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        if let Err(error) = write(record, out) {
            out.truncate(start);
            return Err(error);
        }
    }
    out.extend_from_slice(if records.is_empty() { b"[]" } else { b"]" });
    Ok(())
}

fn write_object(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    write_before_time(record, out)?;
    if let Some(time) = record.time_ns {
        write!(out, ",\"time\":{time}").expect("writing to memory does not fail");
    }
    out.push(b'}');
    Ok(())
}

/// The object up to its fields, without the brace that closes it.
pub(crate) fn write_before_time(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    check_measurement(&record.measurement)?;
    out.extend_from_slice(b"{\"measurement\":");
    write_text(&record.measurement, out);
    for (index, (key, value)) in record.tags.iter().enumerate() {
        check_name("a tag key", key)?;
        check_name("a tag value", value)?;
        out.extend_from_slice(if index == 0 { b",\"tags\":{" } else { b"," });
        write_text(key, out);
        out.push(b':');
        write_text(value, out);
    }
    if !record.tags.is_empty() {
        out.push(b'}');
    }
    if record.fields.is_empty() {
        return Err(Unwritable::NoFields);
    }
    for (index, (key, value)) in record.fields.iter().enumerate() {
        check_name("a field key", key)?;
        out.extend_from_slice(if index == 0 { b",\"fields\":{" } else { b"," });
        write_text(key, out);
        out.push(b':');
        write_value(key, value, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_value(key: &str, value: &FieldValue, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    match value {
        FieldValue::Float(value) if !value.is_finite() => {
            let (key, value) = (key.to_owned(), *value);
            return Err(Unwritable::NotFinite { key, value });
        }
        // Always with a point or an exponent, so that a float is read as one.
        FieldValue::Float(value) => write!(out, "{value:?}"),
        FieldValue::Integer(value) => write!(out, "{value}"),
        FieldValue::Unsigned(value) => write!(out, "{value}"),
        FieldValue::Boolean(value) => write!(out, "{value}"),
        FieldValue::Text(text) => {
            write_text(text, out);
            Ok(())
        }
    }
    .expect("writing to memory does not fail");
    Ok(())
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text is always JSON, and memory takes it");
}
