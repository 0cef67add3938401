//! Tables of accepted and refused texts of each reader, and properties of all readers.

mod csv;
mod files;
mod json;
mod layouts;
mod properties;
mod stamp;
mod types;

use crate::{FieldValue, Mistake, Record};

fn record(
    measurement: &str,
    tags: &[(&str, &str)],
    fields: &[(&str, FieldValue)],
    time_ns: Option<i64>,
) -> Record {
    let tag = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let field = |(key, value): &(&str, FieldValue)| ((*key).to_owned(), value.clone());
    Record {
        measurement: measurement.to_owned(),
        tags: tags.iter().map(tag).collect(),
        fields: fields.iter().map(field).collect(),
        time_ns,
    }
}

fn float(value: f64) -> FieldValue {
    FieldValue::Float(value)
}

fn integer(value: i64) -> FieldValue {
    FieldValue::Integer(value)
}

fn text(value: &str) -> FieldValue {
    FieldValue::Text(value.to_owned())
}

fn check(text: &str, result: Result<Vec<Record>, Vec<Mistake>>, expected: &[Record]) {
    assert_eq!(result.as_deref(), Ok(expected), "{text}");
}

fn check_refused(text: &str, outcome: Result<Vec<Record>, Vec<Mistake>>, expected: &[&str]) {
    let outcome: Vec<String> = match outcome {
        Ok(records) => panic!("{text} is taken as {records:?}"),
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(outcome, expected, "{text}");
}
