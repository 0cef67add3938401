//! Line protocol: the lines and the records of a text agree, and written text reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use waggle_record::{
    MISTAKES_MAX, Precision,
    line_protocol::{lines, measurement_text, name_text, read, write},
};

fuzz_target!(|text: &[u8]| {
    let precision = Precision::Nanoseconds;
    let mut found = Vec::new();
    let mut mistakes = Vec::new();
    for line in lines(text) {
        match line.and_then(|line| Ok((line, line.to_record(precision)?))) {
            Ok((line, record)) => {
                assert_eq!(line.time.map(|time| time.value), record.time_ns);
                assert_eq!(measurement_text(line.measurement()), record.measurement);
                assert_eq!(line.tags().count(), record.tags.len());
                assert_eq!(line.fields().count(), record.fields.len());
                let keys = line.fields().map(|field| name_text(field.key));
                assert!(keys.eq(record.fields.iter().map(|(key, _)| key.as_str())));
                assert!(line.raw.starts_with(line.series()));
                found.push(record);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    let numbers: Vec<_> = mistakes.iter().map(|mistake| mistake.line).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    match read(text, precision) {
        Ok(records) => {
            assert!(mistakes.is_empty());
            assert_eq!(records, found);
        }
        Err(reported) => {
            mistakes.truncate(MISTAKES_MAX);
            assert_eq!(reported, mistakes);
        }
    }
    let mut written = Vec::new();
    for record in &found {
        write(record, &mut written).expect("what was read can be written");
    }
    assert_eq!(read(&written, precision), Ok(found));
});
