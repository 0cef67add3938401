//! NDJSON: one object per line; blank lines are skipped; each line has its own mistakes.

use crate::{
    Columns, Mistake, Precision, Record, Unwritable,
    field_types::{FieldTypes, Scope},
    json,
    source_text::{Mistakes, SourceText},
};

/// Every record of a text whose lines are objects as in [`json::read`], or the mistakes.
pub fn read(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut mistakes = Mistakes::default();
    let records = read_lines(text, &mut mistakes, |source, mistakes| {
        let object = json::parse(source)
            .map_err(|mistake| mistakes.add(mistake))
            .ok()?;
        json::record(source, object, (precision, None), mistakes)
    })?;
    mistakes.into_result(records)
}

/// The same of a file: a field of a measurement has one type, and integers are floats if others are.
pub(crate) fn read_file(text: &[u8], precision: Precision) -> Result<Vec<Record>, Vec<Mistake>> {
    let mut types = FieldTypes::new(Scope::Measurement);
    let mut mistakes = Mistakes::default();
    let mut records = read_lines(text, &mut mistakes, |source, mistakes| {
        let object = json::parse(source)
            .map_err(|mistake| mistakes.add(mistake))
            .ok()?;
        json::record(source, object, (precision, Some(&mut types)), mistakes)
    })?;
    types.unify(&mut records, &mut mistakes);
    mistakes.into_result(records)
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
    let records = read_lines(text, &mut mistakes, |source, mistakes| {
        let object = json::parse(source)
            .map_err(|mistake| mistakes.add(mistake))
            .ok()?;
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
            columns_before: 0,
        };
        records.extend(read_line(source, mistakes));
        if mistakes.is_full() {
            break;
        }
    }
    Ok(records)
}
