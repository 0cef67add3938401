//! JSON, NDJSON and CSV: any bytes give records or mistakes in order; written text reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use waggle_record::{
    Columns, FieldValue, Format, Mistake, Precision, Record, TABLE_MISTAKES_MAX, TimeColumn, csv,
    guess, json, line_protocol, ndjson,
};

fuzz_target!(|text: &[u8]| {
    let precision = Precision::Nanoseconds;
    let columns = Columns {
        time: Some(TimeColumn::of_column("time")),
        tags: vec!["host".into()],
        ..Columns::of_measurement("m")
    };
    check(json::read(text, precision));
    check(ndjson::read(text, precision));
    check(ndjson::read_flat(text, &columns, precision));
    check(csv::read(text, &columns, precision));
    for format in [Format::Csv, Format::Ndjson, Format::Json] {
        if let Ok(Some(found)) = guess(text, format, "m") {
            check(format.read(text, Some(&found.columns), precision));
        }
    }
});

fn check(read: Result<Vec<Record>, Vec<Mistake>>) {
    let records = match read {
        Ok(records) => records,
        Err(mistakes) => {
            assert!((1..=TABLE_MISTAKES_MAX).contains(&mistakes.len()));
            assert!(mistakes.is_sorted_by_key(|mistake| (mistake.line, mistake.column)));
            assert!(
                mistakes
                    .iter()
                    .all(|mistake| mistake.line > 0 && mistake.column > 0)
            );
            return;
        }
    };
    let precision = Precision::Nanoseconds;
    let (mut array, mut lines, mut line_protocol) = (Vec::new(), Vec::new(), Vec::new());
    json::write_all(&records, &mut array).expect("what was read can be written");
    for record in &records {
        ndjson::write(record, &mut lines).expect("what was read can be written");
        line_protocol::write(record, &mut line_protocol).expect("what was read can be written");
    }
    assert_eq!(
        line_protocol::read(&line_protocol, precision).as_ref(),
        Ok(&records)
    );
    let mut as_json = records;
    for (_, value) in as_json.iter_mut().flat_map(|record| &mut record.fields) {
        // JSON cannot distinguish a small unsigned integer from a signed one.
        if let FieldValue::Unsigned(small) = *value
            && let Ok(small) = i64::try_from(small)
        {
            *value = FieldValue::Integer(small);
        }
    }
    assert_eq!(json::read(&array, precision).as_ref(), Ok(&as_json));
    assert_eq!(ndjson::read(&lines, precision).as_ref(), Ok(&as_json));
}
