//! Request bodies of records whose key and time are filled in when they are sent.
//!
//! Each record gets the run as a tag, a key as an integer field, and a time; key and time are digits at known offsets, which are
//! overwritten in place by the same number of digits.

use crate::{FieldValue, Format, Record, Unwritable, json, line_protocol};

/// The tag that names the run.
pub const RUN_TAG: &str = "waggle_run";
/// The field with the record's key.
pub const KEY_FIELD: &str = "waggle_key";
/// Placeholder of the key: 18 digits.
pub const KEY_PLACEHOLDER: &str = "100000000000000000";
/// Placeholder of the time in nanoseconds: 19 digits.
pub const TIME_PLACEHOLDER: &str = "1000000000000000000";
/// Tag and field keys with this prefix are reserved for the stamps.
pub const RESERVED_PREFIX: &str = "waggle_";

/// One record as text, without a line break at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped {
    pub bytes: Vec<u8>,
    /// Offset of the key's first digit.
    pub key_at: usize,
    /// Offset of the time's first digit.
    pub time_at: usize,
}

/// Several records as one request body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub bytes: Vec<u8>,
    /// Offsets of the first digits of key and time, for each record.
    pub slots: Vec<(usize, usize)>,
}

/// The record with placeholders for key and time; the record's own time is dropped.
pub fn stamp(record: &Record, run: &str, format: Format) -> Result<Stamped, Unwritable> {
    let keys = record
        .tags
        .iter()
        .map(|(key, _)| key)
        .chain(record.fields.iter().map(|(key, _)| key));
    if let Some(key) = keys
        .into_iter()
        .find(|key| key.starts_with(RESERVED_PREFIX))
    {
        return Err(Unwritable::Reserved { key: key.clone() });
    }
    if record.fields.is_empty() {
        return Err(Unwritable::NoFields);
    }
    let placeholder = KEY_PLACEHOLDER.parse().expect("it is 18 digits");
    let mut record = record.clone();
    record.tags.push((RUN_TAG.to_owned(), run.to_owned()));
    record
        .fields
        .push((KEY_FIELD.to_owned(), FieldValue::Integer(placeholder)));
    record.time_ns = None;
    let mut bytes = Vec::new();
    // The key is the last field, and only fixed text follows it.
    let (behind_key, behind_time): (&[u8], &[u8]) = match format {
        Format::LineProtocol => {
            line_protocol::write_series(&record.measurement, &record.tags, &mut bytes)?;
            line_protocol::write_fields(&record.fields, &mut bytes)?;
            (b"i", b"")
        }
        Format::Json | Format::Ndjson => {
            json::write_before_time(&record, &mut bytes)?;
            (b"}", b"}")
        }
        Format::Csv => return Err(Unwritable::NotABody),
    };
    let key_at = bytes.len() - behind_key.len() - KEY_PLACEHOLDER.len();
    bytes.extend_from_slice(if format == Format::LineProtocol {
        b" "
    } else {
        b",\"time\":"
    });
    let time_at = bytes.len();
    bytes.extend_from_slice(TIME_PLACEHOLDER.as_bytes());
    bytes.extend_from_slice(behind_time);
    Ok(Stamped {
        bytes,
        key_at,
        time_at,
    })
}

/// The records as one body: lines for line protocol and NDJSON, one array for JSON.
pub fn body(records: &[Record], run: &str, format: Format) -> Result<Body, Unwritable> {
    let (open, between, close): (&[u8], &[u8], &[u8]) = match format {
        Format::Json => (b"[", b",", b"]"),
        _ => (b"", b"\n", b""),
    };
    let mut bytes = open.to_vec();
    let mut slots = Vec::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        if index > 0 {
            bytes.extend_from_slice(between);
        }
        let entry = stamp(record, run, format)?;
        slots.push((bytes.len() + entry.key_at, bytes.len() + entry.time_at));
        bytes.extend_from_slice(&entry.bytes);
    }
    bytes.extend_from_slice(close);
    Ok(Body { bytes, slots })
}
