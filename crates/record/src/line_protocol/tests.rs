//! The documented grammar as tables: accepted texts with their values, refused texts with the position.

// long: tables of accepted and refused texts

use super::{FIELDS_MAX, LINE_MAX_BYTES, TAGS_MAX, lines, read, write};
use crate::{FieldValue, MISTAKES_MAX, Precision, Record};

fn record(
    measurement: &str,
    tags: &[(&str, &str)],
    fields: &[(&str, FieldValue)],
    time_ns: Option<i64>,
) -> Record {
    Record {
        measurement: measurement.into(),
        tags: tags
            .iter()
            .map(|&(key, value)| (key.into(), value.into()))
            .collect(),
        fields: fields
            .iter()
            .map(|(key, value)| ((*key).into(), value.clone()))
            .collect(),
        time_ns,
    }
}

fn check(text: &str, expected: &[Record]) {
    let result = read(text.as_bytes(), Precision::Nanoseconds);
    assert_eq!(result.as_deref(), Ok(expected), "{text:?}");
    let mut written = Vec::new();
    for record in expected {
        write(record, &mut written).expect(text);
    }
    let again = read(&written, Precision::Nanoseconds);
    assert_eq!(again.as_deref(), Ok(expected), "written again: {text:?}");
}

fn check_value(text: &str, expected: FieldValue) {
    check(
        &format!("m v={text}"),
        &[record("m", &[], &[("v", expected)], None)],
    );
}

fn check_refused(text: impl AsRef<[u8]>, expected: &[&str]) {
    let text = text.as_ref();
    let messages: Vec<String> = match read(text, Precision::Nanoseconds) {
        Ok(records) => panic!("{:?} is taken as {records:?}", text.escape_ascii()),
        Err(mistakes) => mistakes.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(messages, expected, "{}", text.escape_ascii());
}

fn float(value: f64) -> FieldValue {
    FieldValue::Float(value)
}

fn text(value: &str) -> FieldValue {
    FieldValue::Text(value.into())
}

#[test]
fn the_parts_of_a_line() {
    let time = Some(1_556_813_561_098_000_000);
    let fields = [("f", float(1.0))];
    check("m f=1", &[record("m", &[], &fields, None)]);
    check(
        "m,t=a f=1 5\n",
        &[record("m", &[("t", "a")], &fields, Some(5))],
    );
    check("m f=1 -5", &[record("m", &[], &fields, Some(-5))]);
    check(
        "myMeasurement,tag1=value1,tag2=value2 fieldKey=\"fieldValue\" 1556813561098000000",
        &[record(
            "myMeasurement",
            &[("tag1", "value1"), ("tag2", "value2")],
            &[("fieldKey", text("fieldValue"))],
            time,
        )],
    );
    check("  m   f=1   5   ", &[record("m", &[], &fields, Some(5))]);
    check(
        "_m,_t=a _f=1",
        &[record("_m", &[("_t", "a")], &[("_f", float(1.0))], None)],
    );
}

#[test]
fn lines_comments_and_line_breaks() {
    let sample = |time| record("m", &[], &[("f", float(1.0))], Some(time));
    check("", &[]);
    check("\n \n\t\r\n# m f=1\n  # a comment", &[]);
    check("m f=1 1\nm f=1 2", &[sample(1), sample(2)]);
    check("m f=1 1\r\nm f=1 2\r\n", &[sample(1), sample(2)]);
    check("m f=1 1\n\n#x\n\nm f=1 2\r", &[sample(1), sample(2)]);
    let no_time = record("m", &[], &[("f", float(1.0))], None);
    check("m f=1\r\nm f=1 \r\n", &[no_time.clone(), no_time]);
    check(
        "m#1 f=1 1",
        &[Record {
            measurement: "m#1".into(),
            ..sample(1)
        }],
    );
}

#[test]
fn values_of_every_type() {
    check_value("1", float(1.0));
    check_value("-1.5", float(-1.5));
    check_value(".5", float(0.5));
    check_value("5.", float(5.0));
    check_value("-1.234456e+78", float(-1.234_456e78));
    check_value("1E-3", float(0.001));
    check_value("1e5", float(100_000.0));
    check_value("1.7976931348623157e308", float(f64::MAX));
    check_value("0i", FieldValue::Integer(0));
    check_value("-9223372036854775808i", FieldValue::Integer(i64::MIN));
    check_value("9223372036854775807i", FieldValue::Integer(i64::MAX));
    check_value("007i", FieldValue::Integer(7));
    check_value("00000000000000000000007i", FieldValue::Integer(7));
    check_value("18446744073709551615u", FieldValue::Unsigned(u64::MAX));
    for yes in ["t", "T", "true", "True", "TRUE"] {
        check_value(yes, FieldValue::Boolean(true));
    }
    for no in ["f", "F", "false", "False", "FALSE"] {
        check_value(no, FieldValue::Boolean(false));
    }
    check_value("\"\"", text(""));
    check_value("\"a, b = c\"", text("a, b = c"));
    check_value("\"ä€😀\"", text("ä€😀"));
    check_value("\"two\nlines\"", text("two\nlines"));
    check_value("\"two\r\nlines\"", text("two\r\nlines"));
}

#[test]
fn escapes() {
    let fields = [("f", float(1.0))];
    check(
        r"my\ mea\,surement f=1",
        &[record("my mea,surement", &[], &fields, None)],
    );
    // An equals sign needs no escape in a measurement, and a backslash before it stays.
    check(r"a=b\=c f=1", &[record(r"a=b\=c", &[], &fields, None)]);
    check(
        r"m,ta\,g\ k\=ey=va\,l\ u\=e fi\,e\ l\=d=1",
        &[record(
            "m",
            &[("ta,g k=ey", "va,l u=e")],
            &[("fi,e l=d", float(1.0))],
            None,
        )],
    );
    // Any other backslash is itself; one before an escape is too.
    check(
        r"a\b\\c,t=\d\\e f=1",
        &[record(r"a\b\\c", &[("t", r"\d\\e")], &fields, None)],
    );
    check(
        r"m,t=a\\,b f=1",
        &[record("m", &[("t", r"a\,b")], &fields, None)],
    );
    // Quotes are ordinary outside a field's value.
    check(
        r#"m"x,"t"="v" "f"=1"#,
        &[record(
            "m\"x",
            &[("\"t\"", "\"v\"")],
            &[("\"f\"", float(1.0))],
            None,
        )],
    );
    // The table of the reference, for texts.
    check_value(r#""\\""#, text(r"\"));
    check_value(r#""a\"b""#, text("a\"b"));
    check_value(r#""a\\b""#, text(r"a\b"));
    check_value(r#""a\\\b""#, text(r"a\\b"));
    check_value(r#""a\\\\b""#, text(r"a\\b"));
    check_value(r#""\n\,""#, text(r"\n\,"));
}

/// One mistake, in the first line.
fn check_expected(text: &str, column: usize, wanted: &str, excerpt: &str) {
    let expected = format!("line 1, column {column}: expected {wanted}, found {excerpt}");
    check_refused(text, &[&expected]);
}

const END: &str = "the end of the line";

#[test]
fn refused_measurements_and_tags() {
    check_expected(
        "no fields here",
        10,
        "= and a value after the field key",
        "a space",
    );
    check_expected("m", 2, "a space and fields", END);
    check_expected("m,t=a", 6, "a space and fields", END);
    check_expected("m ", 3, "a field key", END);
    check_expected(",t=a f=1", 1, "a measurement", "a comma");
    check_expected("m, f=1", 3, "a tag key", "a space");
    check_expected("m,=a f=1", 3, "a tag key", "\"=a\"");
    check_expected("m,t f=1", 4, "= and a value after the tag key", "a space");
    check_expected("m,t= f=1", 5, "a tag value", "a space");
    check_expected("m,t=,u=1 f=1", 5, "a tag value", "a comma");
    check_expected(
        "m,t=a=b f=1",
        6,
        r"a comma, a space or \= in the tag value",
        "\"=b\"",
    );
    check_expected("m,t=a, f=1", 7, "a tag key", "a space");
}

#[test]
fn refused_fields_and_times() {
    check_expected("m =1", 3, "a field key", "\"=1\"");
    check_expected("m f=1,", 7, "a field key", END);
    check_expected("m f=1,,g=1", 7, "a field key", "a comma");
    check_expected(
        "m f=1 5 6",
        9,
        "the end of the line after the time",
        "\"6\"",
    );
    check_expected(
        "m f=1 5,6",
        8,
        "the end of the line after the time",
        "a comma",
    );
    check_expected("m f=1 5.0", 7, "a time, a 64-bit integer", "\"5.0\"");
    check_expected("m f=1 5i", 7, "a time, a 64-bit integer", "\"5i\"");
    check_expected(
        "m f=1 9223372036854775808",
        7,
        "a time, a 64-bit integer",
        "\"9223372036854775808\"",
    );
    check_expected(
        "m f=\"a\"b",
        8,
        "a comma, a space or the end of the line after the value",
        "\"b\"",
    );
    check_expected("ä€😀,t= f=1", 7, "a tag value", "a space");
    check_expected(
        "   m f=?",
        8,
        "a float, an integer with i or u, a boolean or a text in double quotes",
        "\"?\"",
    );
    check_refused(
        "m f=\"a",
        &["line 1, column 5: the text that opens here has no closing double quote"],
    );
    check_refused(
        r#"m f="a\""#,
        &["line 1, column 5: the text that opens here has no closing double quote"],
    );
    check_refused(
        "m,t=a,t=b f=1",
        &["line 1, column 7: tag key \"t\" occurs twice in the line"],
    );
    check_refused(
        "m f=1,g=2,f=3",
        &["line 1, column 11: field key \"f\" occurs twice in the line"],
    );
    check_refused(
        b"m,t=\xC3\xA4\xFF f=1",
        &["line 1, column 6: the text is not UTF-8 here"],
    );
}

#[test]
fn refused_values() {
    let any = "expected a float, an integer with i or u, a boolean or a text in double quotes";
    let check_one = |value: &str, wanted: &str| {
        let expected = format!("line 1, column 5: {wanted}, found {value:?}");
        check_refused(format!("m v={value}"), &[&expected]);
    };
    for value in [
        "NaN", "Inf", "-inf", "abc", "-", ".", "-.", "+1", "1.2.3", "1_000", "0x1f", "tRUE", "'a'",
        "1\\", "1e", "1e+", "1.0E-", "1e.",
    ] {
        check_one(value, any);
    }
    check_one("1e5e5", any);
    check_one("1e400", "expected a float within the range of 64 bits");
    check_one("i", "expected digits before the i of an integer");
    check_one("1.5i", "expected digits before the i of an integer");
    check_one("-i", "expected digits before the i of an integer");
    check_one(
        "9223372036854775808i",
        "expected an integer from -9223372036854775808 to 9223372036854775807",
    );
    check_one(
        "-9223372036854775809i",
        "expected an integer from -9223372036854775808 to 9223372036854775807",
    );
    check_one(
        "-1u",
        "expected digits without a sign before the u of an unsigned integer",
    );
    check_one(
        "18446744073709551616u",
        "expected an unsigned integer up to 18446744073709551615",
    );
    check_refused(
        "m v=",
        &["line 1, column 5: expected a field value, found the end of the line"],
    );
    check_refused(
        "m v=,w=1",
        &["line 1, column 5: expected a field value, found a comma"],
    );
}

#[test]
fn every_mistake_with_its_position() {
    check_refused(
        "m f=1\r\nm\n# x\n\nm f=\"two\nlines\",g=x 1\nm f=\"a\nb\",f=1\n m f=1 z\nm f=1",
        &[
            "line 2, column 2: expected a space and fields, found the end of the line",
            "line 6, column 10: expected a float, an integer with i or u, a boolean or a text in double quotes, found \"x\"",
            "line 8, column 4: field key \"f\" occurs twice in the line",
            "line 9, column 8: expected a time, a 64-bit integer, found \"z\"",
        ],
    );
    let many = "m\n".repeat(2 * MISTAKES_MAX);
    let result = read(many.as_bytes(), Precision::Nanoseconds).map_err(|mistakes| mistakes.len());
    assert_eq!(result, Err(MISTAKES_MAX));
}

#[test]
fn times_are_scaled_and_checked() {
    let check_time = |text: &str, precision, expected: Result<i64, &str>| {
        let time = read(text.as_bytes(), precision)
            .map(|records| records[0].time_ns.expect("the text has a time"))
            .map_err(|mistakes| mistakes[0].to_string());
        assert_eq!(time, expected.map_err(str::to_owned), "{text:?}");
    };
    check_time("m f=1 5", Precision::Seconds, Ok(5_000_000_000));
    check_time("m f=1 -5", Precision::Milliseconds, Ok(-5_000_000));
    check_time("m f=1 5", Precision::Microseconds, Ok(5_000));
    check_time(
        "m f=1 9223372036854775806",
        Precision::Nanoseconds,
        Ok(crate::TIME_MAX_NS),
    );
    check_time(
        "m f=1 -9223372036854775806",
        Precision::Nanoseconds,
        Ok(crate::TIME_MIN_NS),
    );
    let beyond = "expected a time between 1677-09-21 and 2262-04-11, found";
    check_time(
        "m f=1 9223372037",
        Precision::Seconds,
        Err(&format!("line 1, column 7: {beyond} 9223372037 seconds")),
    );
    check_time(
        " m f=\"ä\" 9223372036854775807",
        Precision::Nanoseconds,
        Err(&format!(
            "line 1, column 10: {beyond} 9223372036854775807 nanoseconds"
        )),
    );
    check_time(
        "m f=\"\nä\" 9223372037000",
        Precision::Milliseconds,
        Err(&format!(
            "line 2, column 4: {beyond} 9223372037000 milliseconds"
        )),
    );
}

#[test]
fn limits() {
    let tags = |count| (0..count).map(|n| format!(",t{n}=a")).collect::<String>();
    let fields = |count| {
        (0..count)
            .map(|n| format!("f{n}=1"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let count = |text: String| {
        lines(text.as_bytes())
            .map(|line| line.map(|line| (line.tags().count(), line.fields().count())))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        count(format!("m{} f=1", tags(TAGS_MAX))),
        [Ok((TAGS_MAX, 1))]
    );
    assert_eq!(
        count(format!("m {}", fields(FIELDS_MAX))),
        [Ok((0, FIELDS_MAX))]
    );
    let column = 3 + tags(TAGS_MAX).len();
    check_refused(
        format!("m{} f=1", tags(TAGS_MAX + 1)),
        &[&format!(
            "line 1, column {column}: a line has at most 256 tags"
        )],
    );
    let column = 4 + fields(FIELDS_MAX).len();
    check_refused(
        format!("m {}", fields(FIELDS_MAX + 1)),
        &[&format!(
            "line 1, column {column}: a line has at most 4096 fields"
        )],
    );
    // More keys than are compared pairwise.
    check_refused(
        format!("m {},f7=2", fields(100)),
        &[&format!(
            "line 1, column {}: field key \"f7\" occurs twice in the line",
            4 + fields(100).len()
        )],
    );
    check_refused(
        format!("m{},t7=a f=1", tags(100)),
        &[&format!(
            "line 1, column {}: tag key \"t7\" occurs twice in the line",
            3 + tags(100).len()
        )],
    );
    let long = |bytes: usize| format!("m f=\"{}\"", "x".repeat(bytes - 6));
    assert_eq!(count(long(LINE_MAX_BYTES)), [Ok((0, 1))]);
    check_refused(
        long(LINE_MAX_BYTES + 1),
        &["line 1, column 1: a line has at most 262144 bytes, this one has 262145"],
    );
}

#[test]
fn a_line_is_slices_of_the_text() {
    let text = b" my\\ m,t=a\\,b,u=c  f=1i,g=\"x\\\"y, z\"  -17 ";
    let slices: Vec<_> = lines(text)
        .map(|line| line.expect("a right line"))
        .collect();
    let [line] = slices.as_slice() else {
        panic!("{slices:?}")
    };
    assert_eq!(line.raw, r#"my\ m,t=a\,b,u=c  f=1i,g="x\"y, z"  -17"#);
    assert_eq!(line.measurement(), r"my\ m");
    assert_eq!(line.series(), r"my\ m,t=a\,b,u=c");
    assert_eq!(line.tags_raw(), r"t=a\,b,u=c");
    assert_eq!(line.fields_raw(), r#"f=1i,g="x\"y, z""#);
    let time = line.time.expect("it has a time");
    assert_eq!((time.value, &line.raw[time.at..]), (-17, "-17"));
}

#[test]
fn records_that_a_format_cannot_express_are_not_written() {
    let check_unwritable = |bad: Record, expected: &str| {
        let mut out = b"kept".to_vec();
        let error = write(&bad, &mut out).expect_err(expected);
        assert_eq!(
            (error.to_string().as_str(), out.as_slice()),
            (expected, b"kept".as_slice())
        );
    };
    let fields = [("f", float(1.0))];
    check_unwritable(record("", &[], &fields, None), "the measurement is empty");
    check_unwritable(
        record("#m", &[], &fields, None),
        "a measurement that starts with # would be a comment: \"#m\"",
    );
    check_unwritable(record("m", &[], &[], None), "the record has no fields");
    check_unwritable(
        record("m", &[("t", "")], &fields, None),
        "a tag value is empty",
    );
    check_unwritable(
        record("m", &[("t", "a\\")], &fields, None),
        "a tag value ends in a backslash, which line protocol cannot say: \"a\\\\\"",
    );
    check_unwritable(
        record("m", &[("t\nu", "a")], &fields, None),
        "a tag key holds a line break: \"t\\nu\"",
    );
    check_unwritable(
        record("m", &[], &[("f", float(f64::NAN))], None),
        "field \"f\" is not a finite number: NaN",
    );
}

#[test]
fn lines_that_were_stored_once_are_still_read() {
    let text = b"m\tx,t\x01=a\x7f f\r=1";
    let mut parsed_lines = super::stored_lines(text);
    let read = parsed_lines
        .next()
        .unwrap()
        .unwrap()
        .to_record(Precision::Nanoseconds);
    let expected = record(
        "m\tx",
        &[("t\u{1}", "a\u{7f}")],
        &[("f\r", float(1.0))],
        None,
    );
    assert_eq!(read, Ok(expected));
    assert!(lines(text).all(|line| line.is_err()));
}
