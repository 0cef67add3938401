//! A study's table of records as the readers want it, and a table as a study says it.

use std::path::Path;

use waggle_record::{
    Columns, Decimal, Format, Guess, Layout, Measurement, Precision, Problem, TimeColumn,
    TimeFormat, Zone,
};
use waggle_spec::RecordsFormat;
use waggle_study::{RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Table};

use super::{error::RecordsError, text::read_text};

/// The columns of a table; `None` if the records of the file have measurement and fields of their own.
pub(super) fn columns_of(table: &Table, file: &Path) -> Result<Option<Columns>, RecordsError> {
    let Some(measurement) = &table.measurement else {
        return Ok(None);
    };
    let time = table.time.as_ref().map(|time| time_column(time, file));
    Ok(Some(Columns {
        measurement: match measurement {
            RecordMeasurement::Name(name) => Measurement::Name(name.clone()),
            RecordMeasurement::Column(name) => Measurement::Column(name.clone()),
        },
        time: time.transpose()?,
        tags: table.tags.clone(),
        fields: table.fields.clone(),
        leave_out: table.leave_out.clone(),
        missing: table.missing.clone(),
        skip_empty: table.skip_empty,
        layout: Layout {
            delimiter: table.delimiter,
            decimal: table.decimal.map(|decimal| match decimal {
                RecordDecimal::Point => Decimal::Point,
                RecordDecimal::Comma => Decimal::Comma,
            }),
            skip_lines: table.skip_lines as usize,
            skip_after_header: table.skip_after_header as usize,
            header: table.header.clone(),
            comment: table.comment.clone(),
        },
    }))
}

fn time_column(time: &RecordTime, file: &Path) -> Result<TimeColumn, RecordsError> {
    let wrong = |key: &'static str| {
        move |problem: Problem| RecordsError::Table {
            file: file.to_path_buf(),
            key,
            problem: problem.to_string(),
        }
    };
    let format = match time.format.as_deref() {
        None => TimeFormat::Standard,
        Some(format) => match Precision::from_name(format) {
            Some(unit) => TimeFormat::Epoch(unit),
            None => {
                waggle_record::check_pattern(format).map_err(wrong("time.format"))?;
                TimeFormat::Pattern(format.to_owned())
            }
        },
    };
    let zone = match time.zone.as_deref() {
        None => Zone::default(),
        Some(zone) => Zone::parse(zone).map_err(wrong("time.zone"))?,
    };
    Ok(TimeColumn {
        columns: time.columns.clone(),
        format,
        zone,
    })
}

/// The table with these columns.
fn table_of(columns: Columns) -> Table {
    let layout = columns.layout;
    let count = |lines: usize| u32::try_from(lines).unwrap_or(u32::MAX);
    Table {
        measurement: Some(match columns.measurement {
            Measurement::Name(name) => RecordMeasurement::Name(name),
            Measurement::Column(name) => RecordMeasurement::Column(name),
        }),
        time: columns.time.map(record_time),
        tags: columns.tags,
        fields: columns.fields,
        leave_out: columns.leave_out,
        missing: columns.missing,
        skip_empty: columns.skip_empty,
        delimiter: layout.delimiter,
        decimal: layout.decimal.map(|decimal| match decimal {
            Decimal::Point => RecordDecimal::Point,
            Decimal::Comma => RecordDecimal::Comma,
        }),
        skip_lines: count(layout.skip_lines),
        skip_after_header: count(layout.skip_after_header),
        header: layout.header,
        comment: layout.comment,
        encoding: None,
    }
}

fn record_time(time: TimeColumn) -> RecordTime {
    RecordTime {
        columns: time.columns,
        format: match time.format {
            TimeFormat::Standard => None,
            TimeFormat::Epoch(unit) => Some(unit.name().to_owned()),
            TimeFormat::Pattern(pattern) => Some(pattern),
        },
        zone: None,
    }
}

/// How a file of records is read.
#[derive(Debug)]
pub struct RecordsFound {
    pub body: RecordsBody,
    /// What is not certain, in sentences.
    pub notes: Vec<String>,
    /// Columns of JSON whose integers are read as floats, because others of their values are.
    pub widened: Vec<String>,
    /// The records that are read so, or what cannot be.
    pub records: Result<usize, RecordsError>,
}

/// Looks at a file of records and finds out how it is read. Without a format, that is found, too.
///
/// # Errors
/// The file cannot be read, or is no text.
pub fn look_at_records(
    file: &Path,
    format: Option<RecordsFormat>,
    measurement: &str,
) -> Result<RecordsFound, RecordsError> {
    let (text, encoding) = text_and_encoding(file)?;
    let format = format.unwrap_or_else(|| named_format(Format::of_text(&text)));
    let mistakes = |mistakes| RecordsError::Mistakes {
        file: file.to_path_buf(),
        mistakes,
    };
    let guess = waggle_record::guess(&text, format_of(format), measurement).map_err(mistakes)?;
    let columns = guess.as_ref().map(|guess| &guess.columns);
    let read = format_of(format).read(&text, columns, Precision::default());
    let records = match read.map_err(mistakes) {
        Ok(records) if records.is_empty() => Err(RecordsError::Empty {
            file: file.to_path_buf(),
        }),
        read => read.map(|records| records.len()),
    };
    let (table, mut notes, widened) = match guess {
        Some(Guess {
            columns,
            notes,
            widened,
        }) => (table_of(columns), notes, widened),
        None => (Table::default(), Vec::new(), Vec::new()),
    };
    notes.extend(encoding.map(|name| format!("the text is not UTF-8, and is taken for {name}")));
    Ok(RecordsFound {
        body: body(file, format, table, encoding),
        notes,
        widened,
        records,
    })
}

fn body(
    file: &Path,
    format: RecordsFormat,
    table: Table,
    encoding: Option<&'static str>,
) -> RecordsBody {
    RecordsBody {
        file: file.display().to_string(),
        format,
        send_as: RecordsFormat::LineProtocol,
        per_request: 1,
        table: Table {
            encoding: encoding.map(str::to_owned),
            ..table
        },
    }
}

/// The text, and the encoding that has to be named: that of Western Windows if the text is not UTF-8.
///
/// # Errors
/// The text is UTF-8 with mistakes, which another encoding would not mend.
fn text_and_encoding(file: &Path) -> Result<(Vec<u8>, Option<&'static str>), RecordsError> {
    let text = read_text(file, None)?;
    if std::str::from_utf8(&text).is_ok() {
        return Ok((text, None));
    }
    if let Some(line) = damaged_line(&text) {
        let file = file.to_path_buf();
        return Err(RecordsError::Damaged { file, line });
    }
    let encoding = "windows-1252";
    Ok((read_text(file, Some(encoding))?, Some(encoding)))
}

/// The first line that is not UTF-8, from 1, in a text that has more characters of several bytes than mistakes. In a text of
/// another encoding hardly any two bytes make one.
fn damaged_line(text: &[u8]) -> Option<usize> {
    let (mut characters, mut mistakes, mut lines) = (0_u64, 0_u64, 0);
    let mut first = None;
    for chunk in text.utf8_chunks() {
        let longer = chunk
            .valid()
            .chars()
            .filter(|character| !character.is_ascii());
        characters += longer.count() as u64;
        lines += chunk.valid().matches('\n').count();
        if !chunk.invalid().is_empty() {
            mistakes += 1;
            first.get_or_insert(lines + 1);
        }
    }
    first.filter(|_| characters > mistakes)
}

fn named_format(format: Format) -> RecordsFormat {
    match format {
        Format::LineProtocol => RecordsFormat::LineProtocol,
        Format::Ndjson => RecordsFormat::Ndjson,
        Format::Json => RecordsFormat::Json,
        Format::Csv => RecordsFormat::Csv,
    }
}

pub(super) fn format_of(format: RecordsFormat) -> Format {
    match format {
        RecordsFormat::LineProtocol => Format::LineProtocol,
        RecordsFormat::Ndjson => Format::Ndjson,
        RecordsFormat::Json => Format::Json,
        RecordsFormat::Csv => Format::Csv,
    }
}

#[cfg(test)]
mod tests {
    use super::damaged_line;

    #[test]
    fn utf8_with_mistakes_is_no_other_encoding() {
        let check = |text: &[u8], expected: Option<usize>| {
            assert_eq!(damaged_line(text), expected, "{text:?}");
        };
        check("time,°C\n1,2\n".as_bytes(), None);
        check(b"time,\xc2\xb0C\n1,\xb5\n2,\xc2\xb0\n", Some(2));
        check(b"time,\xb0C\n", None);
        check(b"Temp\xe9rature,\xb0C,\xc2\xb0\n", None);
    }
}
