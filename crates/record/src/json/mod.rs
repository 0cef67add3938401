//! JSON: `{"measurement":"m","tags":{"t":"a"},"fields":{"f":1.5},"time":1700000000000000000}`, or an array of them.
//!
//! Whole numbers are integers (unsigned beyond the range of signed ones), others floats; a field that is null is absent. The time
//! is an integer of the given precision or a text as in RFC 3339. A text that is not JSON has one mistake, at the first invalid
//! byte; else every mistake is found.

mod flat;
mod object;
mod write;

pub(crate) use flat::FlatReader;
pub(crate) use object::{RecordReader, members};
pub(crate) use write::write_before_time;
pub use write::{write, write_all};

use serde_json::value::RawValue;

use crate::{
    Columns, Mistake, Precision, Record,
    source_text::{Mistakes, SourceText},
};

/// Every record of an object or an array of objects, or the mistakes.
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = RecordReader::new(precision);
    let mut mistakes = Mistakes::default();
    let records = read_objects(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    })?;
    reader.finish(records, mistakes)
}

/// The same of a file: a field of a measurement has one type, and integers are floats if others are.
pub(crate) fn read_file(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = RecordReader::of_file(precision);
    let mut mistakes = Mistakes::default();
    let records = read_objects(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    });
    let records = records.map_err(|mistakes| name_ndjson(text, mistakes))?;
    reader.finish(records, mistakes)
}

/// Every record of an object or an array of objects of any shape, `[{"time":…,"host":"a","load":{"one":1.5}}]`, or the mistakes.
pub(crate) fn read_flat(
    text: &[u8],
    columns: &Columns,
    precision: Precision,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = FlatReader::new(columns, precision);
    let mut mistakes = Mistakes::default();
    let records = read_objects(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    });
    let records = records.map_err(|mistakes| name_ndjson(text, mistakes))?;
    reader.finish(records, mistakes)
}

fn read_objects(
    text: &[u8],
    mistakes: &mut Mistakes,
    mut read_object: impl FnMut(SourceText<'_>, &RawValue, &mut Mistakes) -> Option<Record>,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let source = SourceText::parse_utf8(text)?;
    let mut records = Vec::new();
    for (source, object) in objects(source)? {
        records.extend(read_object(source, object, mistakes));
        if mistakes.is_full() {
            break;
        }
    }
    Ok(records)
}

/// The object that a text is, or those of its array, each with its place.
pub(crate) fn objects(
    source: SourceText<'_>,
) -> Result<impl Iterator<Item = (SourceText<'_>, &RawValue)>, Vec<Mistake>> {
    let whole = parse(source).map_err(|mistake| vec![mistake])?;
    let objects: Vec<&RawValue> = if whole.get().starts_with('[') {
        serde_json::from_str(whole.get()).expect("it was parsed as JSON before, and it is an array")
    } else {
        vec![whole]
    };
    let (mut start, mut last) = (0, source);
    Ok(objects.into_iter().map(move |object| {
        (start, last) = source.piece_after(start, last, object.get());
        (last, object)
    }))
}

/// Names the format of a text that has an object a line.
pub(crate) fn name_ndjson(text: &[u8], mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    let is_object = |line: &[u8]| {
        line.starts_with(b"{") && serde_json::from_slice::<&RawValue>(line.trim_ascii()).is_ok()
    };
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut lines = text.split(|&byte| byte == b'\n');
    if let ([first, ..], Some(true), Some(true)) = (
        &mut mistakes[..],
        lines.next().map(is_object),
        lines.next().map(is_object),
    ) {
        first.remedy = Some("format: ndjson reads an object a line".into());
    }
    mistakes
}

/// The text as one JSON value, or the position of the error.
pub(crate) fn parse(source: SourceText<'_>) -> Result<&RawValue, Mistake> {
    serde_json::from_str(source.text).map_err(|error| syntax_mistake(source, &error))
}

fn syntax_mistake(source: SourceText<'_>, error: &serde_json::Error) -> Mistake {
    let line_start = line_start(source.text, error.line());
    // serde_json counts bytes from 1, and 0 is the line break before the line.
    let offset = line_start + error.column().saturating_sub(1);
    let offset = (0..=offset.min(source.text.len()))
        .rev()
        .find(|&offset| source.text.is_char_boundary(offset))
        .unwrap_or(0);
    let message = error.to_string();
    let what = message.split(" at line ").next().unwrap_or(&message);
    source.mistake(offset, format!("this is not JSON: {what}"))
}

fn line_start(text: &str, line: usize) -> usize {
    match line.checked_sub(2) {
        None => 0,
        Some(breaks) => memchr::memchr_iter(b'\n', text.as_bytes())
            .nth(breaks)
            .map_or(text.len(), |newline| newline + 1),
    }
}
