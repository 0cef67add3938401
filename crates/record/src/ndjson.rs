//! NDJSON: one object per line; blank lines are skipped; each line has its own mistakes.

use std::collections::HashSet;

use crate::{
    Columns, FieldValue, Mistake, Precision, Record, Unwritable, json,
    source_text::{Mistakes, SourceText},
};

/// Every record of a text whose lines are objects as in [`json::read`], or the mistakes.
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut mistakes = Mistakes::default();
    let records = read_lines(text, &mut mistakes, |source, mistakes| {
        let object = json::parse(source)
            .map_err(|mistake| mistakes.add(mistake))
            .ok()?;
        json::record(source, object, precision, mistakes)
    })?;
    mistakes.into_result(records)
}

/// Every record of a text whose lines are objects of any shape, `{"time":…,"host":"a","load":{"one":1.5}}`, or the mistakes. A
/// column with integers and floats is a float in every record.
pub fn read_flat(
    text: &[u8],
    columns: &Columns,
    precision: Precision,
) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut reader = json::FlatReader::new(columns, precision);
    let mut mistakes = Mistakes::of_table();
    let mut records = read_lines(text, &mut mistakes, |source, mistakes| {
        let object = json::parse(source)
            .map_err(|mistake| mistakes.add(mistake))
            .ok()?;
        reader.record(source, object, mistakes)
    })?;
    // A typing error in a name would send other records than was meant.
    if mistakes.is_empty() {
        for name in reader.unseen() {
            mistakes.add(Mistake::new(1, 1, format!("no object has {name:?}")));
        }
    }
    records = mistakes.into_result(records)?;
    let floats: HashSet<String> = (records.iter().flat_map(|record| &record.fields))
        .filter(|(_, value)| matches!(value, FieldValue::Float(_)))
        .map(|(key, _)| key.clone())
        .collect();
    for (key, value) in records.iter_mut().flat_map(|record| &mut record.fields) {
        if floats.contains(key) {
            to_float(value);
        }
    }
    Ok(records)
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
    mut read_line: impl FnMut(SourceText<'_>, &mut Mistakes) -> Option<Record>,
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
        };
        records.extend(read_line(source, mistakes));
        if mistakes.is_full() {
            break;
        }
    }
    Ok(records)
}

#[expect(clippy::cast_precision_loss, reason = "the column also has floats")]
fn to_float(value: &mut FieldValue) {
    match *value {
        FieldValue::Integer(whole) => *value = FieldValue::Float(whole as f64),
        FieldValue::Unsigned(whole) => *value = FieldValue::Float(whole as f64),
        _ => {}
    }
}
