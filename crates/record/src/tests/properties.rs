//! Properties of any record and any bytes: written records read back, nothing panics, the sample survives.

use proptest::{collection::vec, prelude::*};

use crate::{
    Columns, FieldValue, Format, Precision, Record, TimeColumn, csv, guess, json, line_protocol,
    ndjson,
};

/// Any name that line protocol can express.
fn name() -> impl Strategy<Value = String> {
    let special = r##"[a-z ,=\\"#äé😀_0-9]{1,8}"##;
    special.prop_map(|name| {
        let name = name
            .trim_start_matches('#')
            .trim_end_matches('\\')
            .to_owned();
        if name.is_empty() {
            "x".to_owned()
        } else {
            name
        }
    })
}

fn value() -> impl Strategy<Value = FieldValue> {
    prop_oneof![
        any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            .prop_map(FieldValue::Float),
        any::<i64>().prop_map(FieldValue::Integer),
        // Below, JSON cannot distinguish it from a signed one.
        (1_u64 << 63..).prop_map(FieldValue::Unsigned),
        any::<bool>().prop_map(FieldValue::Boolean),
        r##"[a-z ,=\\"\n\räé😀]{0,12}"##.prop_map(FieldValue::Text),
    ]
}

fn unique<T>(mut pairs: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut seen = std::collections::HashSet::new();
    pairs.retain(|(key, _)| seen.insert(key.clone()));
    pairs
}

fn any_record() -> impl Strategy<Value = Record> {
    let time = proptest::option::of(crate::TIME_MIN_NS..=crate::TIME_MAX_NS);
    let parts = (
        name(),
        vec((name(), name()), 0..25),
        vec((name(), value()), 1..25),
        time,
    );
    parts.prop_map(|(measurement, tags, fields, time_ns)| Record {
        measurement,
        tags: unique(tags),
        fields: unique(fields),
        time_ns,
    })
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

proptest! {
    #[test]
    fn written_line_protocol_reads_back(records in vec(any_record(), 0..4)) {
        let mut text = Vec::new();
        for record in &records {
            line_protocol::write(record, &mut text).expect("names were made so");
        }
        prop_assert_eq!(line_protocol::read(&text, Precision::Nanoseconds), Ok(records));
    }

    #[test]
    fn written_json_reads_back(records in vec(any_record(), 0..4)) {
        let mut array = Vec::new();
        json::write_all(&records, &mut array).expect("names were made so");
        let mut lines = Vec::new();
        for record in &records {
            ndjson::write(record, &mut lines).expect("names were made so");
        }
        prop_assert_eq!(json::read(&array, Precision::Nanoseconds), Ok(records.clone()));
        prop_assert_eq!(ndjson::read(&lines, Precision::Nanoseconds), Ok(records));
    }

    #[test]
    fn a_table_reads_back(texts in vec(r#"[a-z ,"\n\rä]{0,9}x"#, 1..9), floats in vec(any::<f64>(), 9)) {
        let mut table = "text,float\n".to_owned();
        let mut expected = Vec::new();
        for (text, float) in texts.iter().zip(floats) {
            let float = if float.is_finite() { float } else { 0.5 };
            table += &format!("{},{float:?}\r\n", quote(text));
            expected.push((FieldValue::Text(text.clone()), FieldValue::Float(float)));
        }
        let columns = Columns::of_measurement("m");
        let records = csv::read(table.as_bytes(), &columns, Precision::Nanoseconds).map_err(|mistakes| TestCaseError::fail(format!("{mistakes:?}")))?;
        let fields: Vec<_> = records.iter().map(|record| (record.fields[0].1.clone(), record.fields[1].1.clone())).collect();
        prop_assert_eq!(fields, expected);
    }

    #[test]
    fn no_bytes_panic(text in vec(any::<u8>(), 0..200)) {
        read_all_ways(&text);
    }

    #[test]
    fn no_text_panics(text in r##"[ab ,=\\"#{}:\[\]\n\r0-9.eiuä-]{0,60}"##) {
        read_all_ways(text.as_bytes());
    }
}

fn read_all_ways(text: &[u8]) {
    let columns = Columns {
        time: Some(TimeColumn::of_column("a")),
        tags: vec!["b".into()],
        ..Columns::of_measurement("m")
    };
    let precision = Precision::Seconds;
    let read = line_protocol::read(text, precision);
    let lines: Result<Vec<_>, _> = line_protocol::lines(text)
        .map(|line| line.and_then(|line| line.to_record(precision)))
        .collect();
    assert_eq!(read.is_ok(), lines.is_ok(), "{}", text.escape_ascii());
    // Only that they end is of interest.
    for format in [Format::Csv, Format::Ndjson, Format::Json] {
        if let Ok(Some(proposal)) = guess(text, format, "m") {
            drop(format.read(text, Some(&proposal.columns), precision));
        }
    }
    drop(json::read(text, precision));
    drop(ndjson::read(text, precision));
    drop(ndjson::read_flat(text, &columns, precision));
    drop(csv::read(text, &columns, precision));
}

#[test]
fn the_sample_survives_every_format() {
    let sample = include_bytes!("../../../../studies/data/host-metrics.lp");
    let records = line_protocol::read(sample, Precision::Nanoseconds).expect("the sample is right");
    assert_eq!(records.len(), 10_000);
    let mut lines = Vec::new();
    let mut objects = Vec::new();
    for record in &records {
        line_protocol::write(record, &mut lines).expect("what was read can be written");
        ndjson::write(record, &mut objects).expect("what was read can be written");
    }
    assert!(line_protocol::read(&lines, Precision::Nanoseconds).as_deref() == Ok(&records));
    assert!(ndjson::read(&objects, Precision::Nanoseconds).as_deref() == Ok(&records));
}
