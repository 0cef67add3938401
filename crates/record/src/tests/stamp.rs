//! Stamped bodies: the offsets point at the placeholders, and the body reads back with run, key and time.

use super::{float, integer, record, text};
use crate::{Format, KEY_PLACEHOLDER, Precision, TIME_PLACEHOLDER, Unwritable, body, stamp};

#[test]
fn stamps_are_at_their_offsets() {
    let readings = [
        record(
            "cpu,1",
            &[("host", "a b")],
            &[("load", float(0.5)), ("note", text("100000000000000000"))],
            Some(5),
        ),
        record("mem", &[], &[("used", integer(1))], None),
    ];
    let check_format = |format: Format, expected: &str| {
        let made = body(&readings, "r 1", format).expect("these can be written");
        assert_eq!(String::from_utf8_lossy(&made.bytes), expected);
        let mut sent = made.bytes.clone();
        for (index, &(key_at, time_at)) in made.slots.iter().enumerate() {
            assert_eq!(&made.bytes[key_at..][..18], KEY_PLACEHOLDER.as_bytes());
            assert_eq!(&made.bytes[time_at..][..19], TIME_PLACEHOLDER.as_bytes());
            sent[key_at + 17] = b'1' + u8::try_from(index).expect("there are two");
            sent[time_at + 18] = b'3' + u8::try_from(index).expect("there are two");
        }
        let stamped = |reading: usize, key, time| {
            let mut record = readings[reading].clone();
            record.tags.push(("waggle_run".into(), "r 1".into()));
            record.fields.push(("waggle_key".into(), integer(key)));
            record.time_ns = Some(time);
            record
        };
        let expected = vec![
            stamped(0, 100_000_000_000_000_001, 1_000_000_000_000_000_003),
            stamped(1, 100_000_000_000_000_002, 1_000_000_000_000_000_004),
        ];
        assert_eq!(
            format.read(&sent, None, Precision::Nanoseconds),
            Ok(expected),
            "{format:?}"
        );
    };
    check_format(
        Format::LineProtocol,
        "cpu\\,1,host=a\\ b,waggle_run=r\\ 1 load=0.5,note=\"100000000000000000\",waggle_key=100000000000000000i 1000000000000000000\nmem,waggle_run=r\\ 1 used=1i,waggle_key=100000000000000000i 1000000000000000000",
    );
    let first_record = r#"{"measurement":"cpu,1","tags":{"host":"a b","waggle_run":"r 1"},"fields":{"load":0.5,"note":"100000000000000000","waggle_key":100000000000000000},"time":1000000000000000000}"#;
    let two = r#"{"measurement":"mem","tags":{"waggle_run":"r 1"},"fields":{"used":1,"waggle_key":100000000000000000},"time":1000000000000000000}"#;
    check_format(Format::Ndjson, &format!("{first_record}\n{two}"));
    check_format(Format::Json, &format!("[{first_record},{two}]"));
}

#[test]
fn records_that_cannot_be_stamped() {
    let check_refused = |reading, format, expected: Unwritable| {
        assert_eq!(stamp(&reading, "r", format), Err(expected));
    };
    let fields = [("f", integer(1))];
    let reserved = |key: &str| Unwritable::Reserved { key: key.into() };
    check_refused(
        record("m", &[("waggle_run", "x")], &fields, None),
        Format::Json,
        reserved("waggle_run"),
    );
    check_refused(
        record("m", &[], &[("waggle_other", integer(1))], None),
        Format::LineProtocol,
        reserved("waggle_other"),
    );
    check_refused(
        record("m", &[], &[], None),
        Format::LineProtocol,
        Unwritable::NoFields,
    );
    check_refused(
        record("m", &[], &fields, None),
        Format::Csv,
        Unwritable::NotABody,
    );
}
