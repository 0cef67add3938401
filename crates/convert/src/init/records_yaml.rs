//! The keys of `records` in a study that waggle writes.

use waggle_study::{RecordDecimal, RecordMeasurement, RecordTime, RecordsBody, Table};

use crate::init::write::literal;

/// One line for each key, without indentation; `file` is the file's name as YAML.
pub fn lines(records: &RecordsBody, file: &str) -> Vec<String> {
    let mut lines = vec![
        format!("file: {file}"),
        format!("format: {}", records.format.name()),
        format!("send_as: {}", records.send_as.name()),
        format!("per_request: {}", records.per_request),
    ];
    let table = &records.table;
    match &table.measurement {
        None => {}
        Some(RecordMeasurement::Name(name)) => {
            lines.push(format!("measurement: {}", literal(name)));
        }
        Some(RecordMeasurement::Column(name)) => {
            lines.push(format!("measurement: {{ column: {} }}", literal(name)));
        }
    }
    lines.extend(table.time.as_ref().map(time));
    lines.extend(lists(table));
    lines.extend(layout(table));
    lines
}

fn time(time: &RecordTime) -> String {
    let column = match &time.columns[..] {
        [name] if time.format.is_none() && time.zone.is_none() => {
            return format!("time: {}", literal(name));
        }
        [name] => literal(name),
        several => list(several),
    };
    let mut keys = vec![format!("column: {column}")];
    let format = time.format.as_ref().map(|text| ("format", text));
    let zone = time.zone.as_ref().map(|text| ("zone", text));
    for (key, text) in format.into_iter().chain(zone) {
        keys.push(format!("{key}: {}", literal(text)));
    }
    format!("time: {{ {} }}", keys.join(", "))
}

fn lists(table: &Table) -> Vec<String> {
    let none = Vec::new();
    let mut lines = Vec::new();
    for (key, names) in [
        ("tags", &table.tags),
        ("fields", table.fields.as_ref().unwrap_or(&none)),
        ("leave_out", &table.leave_out),
        ("missing", &table.missing),
    ] {
        if !names.is_empty() {
            lines.push(format!("{key}: {}", list(names)));
        }
    }
    if table.skip_empty {
        lines.push("skip_empty: true".to_owned());
    }
    lines
}

fn layout(table: &Table) -> Vec<String> {
    let delimiter = table.delimiter.map(String::from);
    let texts = [
        ("delimiter", &delimiter),
        ("comment", &table.comment),
        ("encoding", &table.encoding),
    ];
    let mut lines: Vec<String> = texts
        .into_iter()
        .filter_map(|(key, text)| Some(format!("{key}: {}", literal(text.as_ref()?))))
        .collect();
    lines.extend(table.decimal.map(|decimal| match decimal {
        RecordDecimal::Point => "decimal: point".to_owned(),
        RecordDecimal::Comma => "decimal: comma".to_owned(),
    }));
    for (key, count) in [
        ("skip_lines", table.skip_lines),
        ("skip_after_header", table.skip_after_header),
    ] {
        if count > 0 {
            lines.push(format!("{key}: {count}"));
        }
    }
    lines.extend((table.header.as_ref()).map(|names| format!("header: {}", list(names))));
    lines
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    format!("[{}]", texts.join(", "))
}
