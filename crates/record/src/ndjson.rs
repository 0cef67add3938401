//! NDJSON: one object per line; blank lines are skipped; each line has its own mistakes.

use serde_json::value::RawValue;

use crate::{
    Columns, Mistake, Precision, Record, Unwritable, json,
    source_text::{Mistakes, SourceText},
};

/// Every record of a text whose lines are objects as in [`json::read`], or the mistakes.
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = json::RecordReader::new(precision);
    let mut mistakes = Mistakes::default();
    let records = read_lines(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    })?;
    reader.finish(records, mistakes)
}

/// The same of a file: a field of a measurement has one type, and integers are floats if others are.
pub(crate) fn read_file(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = json::RecordReader::of_file(precision);
    let mut mistakes = Mistakes::default();
    let records = read_lines(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    })?;
    reader.finish(records, mistakes)
}

/// Every record of a text whose lines are objects of any shape, `{"time":…,"host":"a","load":{"one":1.5}}`, or the mistakes. A
/// column has one type; one with integers and floats is a float in every record.
pub fn read_flat(
    text: &[u8],
    columns: &Columns,
    precision: Precision,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = json::FlatReader::new(columns, precision);
    let mut mistakes = Mistakes::of_table();
    let records = read_lines(text, &mut mistakes, |source, object, mistakes| {
        reader.record(source, object, mistakes)
    })?;
    reader.finish(records, mistakes)
}

/// Appends the record as one line with its line break. On an error `out` is as it was.
pub fn write(record: &Record, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    json::write(record, out)?;
    out.push(b'\n');
    Ok(())
}

fn read_lines(
    text: &[u8],
    mistakes: &mut Mistakes,
    mut read_object: impl FnMut(SourceText<'_>, &RawValue, &mut Mistakes) -> Option<Record>,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let whole = SourceText::parse_utf8(text)?;
    let mut records = Vec::new();
    for (index, line) in whole.text.split('\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let source = SourceText {
            text: line,
            first_line: index + 1,
            columns_before: 0,
        };
        match json::parse(source) {
            Ok(object) => records.extend(read_object(source, object, mistakes)),
            Err(mistake) => mistakes.add(mistake),
        }
        if mistakes.is_full() {
            break;
        }
    }
    Ok(records)
}
