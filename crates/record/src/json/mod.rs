//! JSON: `{"measurement":"m","tags":{"t":"a"},"fields":{"f":1.5},"time":1700000000000000000}`, or an array of them.
//!
//! Whole numbers are integers (unsigned beyond the range of signed ones), others floats; a field that is null is absent. The time
//! is an integer of the given precision or a text as in RFC 3339. A text that is not JSON has one mistake, at the first invalid
//! byte; else every mistake is found.

mod flat;
mod object;
mod write;

pub(crate) use flat::FlatReader;
pub(crate) use object::record;
pub(crate) use write::write_before_time;
pub use write::{write, write_all};

use serde_json::value::RawValue;

use crate::{
    Mistake, Precision, Record,
    source_text::{Mistakes, SourceText},
};

/// Every record of an object or an array of objects, or the mistakes.
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let whole = parse(source).map_err(|mistake| vec![mistake])?;
    let mut mistakes = Mistakes::default();
    let mut records = Vec::new();
    let objects: Vec<&RawValue> = if whole.get().starts_with('[') {
        serde_json::from_str(whole.get()).expect("it was parsed as JSON before, and it is an array")
    } else {
        vec![whole]
    };
    for object in objects {
        records.extend(record(source, object, precision, &mut mistakes));
        if mistakes.is_full() {
            break;
        }
    }
    mistakes.into_result(records)
}

/// The text as one JSON value, or the position of the error.
pub(crate) fn parse(source: SourceText<'_>) -> Result<&RawValue, Mistake> {
    serde_json::from_str(source.text).map_err(|error| {
        let line_start = line_start(source.text, error.line());
        // serde_json counts bytes from 1, and 0 is the line break before the line.
        let at = line_start + error.column().saturating_sub(1);
        let at = (0..=at.min(source.text.len()))
            .rev()
            .find(|&at| source.text.is_char_boundary(at))
            .unwrap_or(0);
        let message = error.to_string();
        let what = message.split(" at line ").next().unwrap_or(&message);
        source.mistake(at, format!("this is not JSON: {what}"))
    })
}

fn line_start(text: &str, line: usize) -> usize {
    match line.checked_sub(2) {
        None => 0,
        Some(breaks) => memchr::memchr_iter(b'\n', text.as_bytes())
            .nth(breaks)
            .map_or(text.len(), |newline| newline + 1),
    }
}
