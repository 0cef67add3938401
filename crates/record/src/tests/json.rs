//! JSON and NDJSON: shapes, types, times, and mistakes with their positions.

use super::{check, check_refused, float, integer, record, text};
use crate::{Columns, FieldValue, Measurement, Precision, TimeColumn, json, ndjson};

fn check_json(source: &str, expected: &[crate::Record]) {
    check(
        source,
        json::read(source.as_bytes(), Precision::Nanoseconds),
        expected,
    );
}

fn check_value(source: &str, expected: FieldValue) {
    check_json(
        &format!(r#"{{"measurement":"m","fields":{{"f":{source}}}}}"#),
        &[record("m", &[], &[("f", expected)], None)],
    );
}

fn refuse_json(source: &str, expected: &[&str]) {
    check_refused(
        source,
        json::read(source.as_bytes(), Precision::Nanoseconds),
        expected,
    );
}

/// The mistake of a field's value; columns count from the value.
fn refuse_value(source: &str, expected: &str) {
    refuse_json(
        &format!("{{\"measurement\":\"m\",\"fields\":{{\"f\":\n{source}}}}}"),
        &[&format!("line 2, column 1: {expected}")],
    );
}

#[test]
fn one_object_or_an_array() {
    let element = record(
        "m",
        &[("t", "a")],
        &[("f", float(1.5)), ("g", text("x"))],
        Some(7),
    );
    let object = r#"{"measurement":"m","tags":{"t":"a"},"fields":{"f":1.5,"g":"x"},"time":7}"#;
    check_json(object, std::slice::from_ref(&element));
    check_json(
        &format!(" [ {object} ,\n{object}]\n"),
        &[element.clone(), element],
    );
    check_json("[]", &[]);
}

#[test]
fn values() {
    check_value("1", integer(1));
    check_value("-9223372036854775808", integer(i64::MIN));
    check_value("9223372036854775808", FieldValue::Unsigned(1 << 63));
    check_value("18446744073709551615", FieldValue::Unsigned(u64::MAX));
    check_value("1.0", float(1.0));
    check_value("1e3", float(1000.0));
    check_value("true", FieldValue::Boolean(true));
    check_value(r#""a\"\u00e4\n""#, text("a\"ä\n"));
    let present = r#"{"measurement":"m","fields":{"f":null,"g":1}}"#;
    check_json(present, &[record("m", &[], &[("g", integer(1))], None)]);
    refuse_value(
        "18446744073709551616",
        "expected a number of 64 bits, found 18446744073709551616",
    );
    refuse_value("1e999", "expected a number of 64 bits, found 1e999");
    refuse_value("[1]", "expected a number, a boolean or a text, found [1]");
    refuse_value(r#""\ud800""#, r#"expected a text, found "\ud800""#);
}

#[test]
fn times() {
    let check_time = |source: &str, precision, expected| {
        let json = format!(r#"{{"measurement":"m","fields":{{"f":1}},"time":{source}}}"#);
        let result = json::read(json.as_bytes(), precision);
        check(
            &json,
            result,
            &[record("m", &[], &[("f", integer(1))], Some(expected))],
        );
    };
    check_time("-5", Precision::Seconds, -5_000_000_000);
    check_time(
        r#""1970-01-01T00:00:01.000000002Z""#,
        Precision::Seconds,
        1_000_000_002,
    );
    check_time(r#""1970-01-01T01:00:00+01:00""#, Precision::Milliseconds, 0);
    let refuse_time = |source: &str, expected: &str| {
        let json = format!("{{\"measurement\":\"m\",\"fields\":{{\"f\":1}},\"time\":\n{source}}}");
        refuse_json(&json, &[&format!("line 2, column 1: {expected}")]);
    };
    refuse_time(
        "1.5",
        "expected a time as an integer or like 2026-11-21T08:00:00Z, found 1.5",
    );
    refuse_time("true", "expected a time, an integer or a text, found true");
    refuse_time(
        r#""soon""#,
        r#"expected a time like 2026-11-21T08:00:00Z, found "soon""#,
    );
    let range = "expected a time between 1677-09-21 and 2262-04-11, found";
    refuse_time(
        r#""2300-01-01T00:00:00Z""#,
        &format!("{range} 2300-01-01T00:00:00Z"),
    );
    refuse_time(
        "9223372036854775807",
        &format!("{range} 9223372036854775807 nanoseconds"),
    );
}

#[test]
fn mistakes_and_their_positions() {
    refuse_json(
        "",
        &["line 1, column 1: this is not JSON: EOF while parsing a value"],
    );
    refuse_json(
        "{\n \"ä\": x}",
        &["line 2, column 7: this is not JSON: expected value"],
    );
    refuse_json(
        "7",
        &["line 1, column 1: expected a record: an object, found 7"],
    );
    refuse_json(
        "[{\"ä\":1},\n {\"measurement\":\"\",\"fields\":{}},\n {\"measurement\":\"m\",\"fields\":{\"f\":1,\"f\":2}},\n {\"measurement\":\"m\"}]",
        &[
            "line 1, column 3: expected measurement, tags, fields or time, found \"ä\"",
            "line 2, column 17: the measurement is empty",
            "line 3, column 37: key \"f\" occurs twice in the object",
            "line 4, column 2: the record has no fields",
        ],
    );
    refuse_json(
        r#"{"measurement":"m","tags":{"t":1,"u":""},"fields":{"":1}}"#,
        &[
            "line 1, column 32: expected a tag value: a text, found 1",
            "line 1, column 38: a tag value is empty",
            "line 1, column 52: a field key is empty",
        ],
    );
    let not_utf8 = json::read(b"{\"\xFF\"}", Precision::Nanoseconds);
    check_refused(
        "not UTF-8",
        not_utf8,
        &["line 1, column 3: the text is not UTF-8 here"],
    );
}

#[test]
fn names_have_no_control_characters() {
    refuse_json(
        r#"{"measurement":"a\u0001","tags":{"t\t":"x","u":"\u007f"},"fields":{"f\r":1}}"#,
        &[
            "line 1, column 16: the measurement holds a control character: \"a\\u{1}\"",
            "line 1, column 34: a tag key holds a control character: \"t\\t\"",
            "line 1, column 48: a tag value holds a control character: \"\\u{7f}\"",
            "line 1, column 68: a field key holds a control character: \"f\\r\"",
        ],
    );
    let columns = Columns::of_measurement("m");
    let flat = "{\"a\\tb\":1}";
    check_refused(
        flat,
        ndjson::read_flat(flat.as_bytes(), &columns, Precision::Seconds),
        &["line 1, column 2: a field key holds a control character: \"a\\tb\""],
    );
    let table = "a,b\u{1}\n1,2\n";
    check_refused(
        table,
        crate::csv::read(table.as_bytes(), &columns, Precision::Seconds),
        &[
            "line 1, column 3: a column's name holds a control character: \"b\\u{1}\"; leave_out: names columns that are not used",
        ],
    );
}

#[test]
fn deep_nesting_is_a_mistake() {
    let deep = "[".repeat(100_000);
    refuse_json(
        &deep,
        &["line 1, column 100000: this is not JSON: EOF while parsing a list"],
    );
}

#[test]
fn a_line_an_object() {
    let element = record("m", &[], &[("f", integer(1))], Some(1));
    let source = "{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":1}";
    let two = format!("\n{source}\r\n\n{source}");
    check(
        &two,
        ndjson::read(two.as_bytes(), Precision::Nanoseconds),
        &[element.clone(), element],
    );
    let bad = format!("{source}\n{{\n{source} 5\n{{\"measurement\":1}}");
    check_refused(
        &bad,
        ndjson::read(bad.as_bytes(), Precision::Nanoseconds),
        &[
            "line 2, column 1: this is not JSON: EOF while parsing an object",
            "line 3, column 47: this is not JSON: trailing characters",
            "line 4, column 16: expected a measurement: a text, found 1",
        ],
    );
}

#[test]
fn flat_objects() {
    let columns = Columns {
        time: Some(TimeColumn::of_column("at")),
        tags: vec!["host".into(), "cpu".into()],
        ..Columns::of_measurement("plant")
    };
    let source = "{\"at\":1,\"host\":\"a\",\"cpu\":0,\"load\":1,\"up\":true}\n{\"load\":1.5,\"host\":null,\"at\":\"1970-01-01T00:00:02Z\"}";
    let first = [("load", float(1.0)), ("up", FieldValue::Boolean(true))];
    check(
        source,
        ndjson::read_flat(source.as_bytes(), &columns, Precision::Seconds),
        &[
            record(
                "plant",
                &[("host", "a"), ("cpu", "0")],
                &first,
                Some(1_000_000_000),
            ),
            record("plant", &[], &[("load", float(1.5))], Some(2_000_000_000)),
        ],
    );
    let source = "{\"load\":1}\n{\"at\":1}\n{\"at\":1,\"load\":{}}";
    check_refused(
        source,
        ndjson::read_flat(source.as_bytes(), &columns, Precision::Seconds),
        &[
            "line 1, column 1: the object has no time \"at\"",
            "line 2, column 1: the object has no fields; skip_empty: true leaves out objects without values",
            "line 3, column 1: the object has no fields; skip_empty: true leaves out objects without values",
        ],
    );
}

#[test]
fn nested_values_are_columns_by_path() {
    let columns = Columns {
        measurement: Measurement::Column("device.kind".into()),
        time: Some(TimeColumn::of_column("at")),
        tags: vec!["device.id".into()],
        leave_out: vec!["raw".into()],
        missing: vec!["NAN".into()],
        skip_empty: true,
        ..Columns::of_measurement("m")
    };
    let read = |source: &str| ndjson::read_flat(source.as_bytes(), &columns, Precision::Seconds);
    let source =
        r#"{"at":1,"device":{"id":7,"kind":"oven"},"samples":[1.5,{"x":2}],"raw":[{"deep":[]}]}"#;
    let fields = [("samples.0", float(1.5)), ("samples.1.x", integer(2))];
    let expected = record("oven", &[("device.id", "7")], &fields, Some(1_000_000_000));
    check(source, read(source), std::slice::from_ref(&expected));
    let empty = r#"{"at":2,"device":{"id":7,"kind":"oven"},"t":"NAN","raw":1}"#;
    let two = format!("\u{feff}{source}\n{empty}\n");
    check(&two, read(&two), &[expected]);
    let source = r#"{"at":1,"device":{"id":7},"a":{"b":1},"a.b":2,"raw":1}"#;
    check_refused(
        source,
        read(source),
        &["line 1, column 39: \"a.b\" is both a key and a path in the object"],
    );
    let source = r#"{"at":1,"device":{"kind":"oven"},"a":1}"#;
    check_refused(
        source,
        read(source),
        &[
            "line 1, column 1: no object has \"device.id\"",
            "line 1, column 1: no object has \"raw\"",
        ],
    );
    let deep = format!("{{\"at\":1,\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    check_refused(
        &deep,
        read(&deep),
        &["line 1, column 44: nested deeper than 32 levels"],
    );
}

#[test]
fn paths_that_meet_are_mistakes() {
    let columns = Columns {
        tags: vec!["host".into()],
        ..Columns::of_measurement("m")
    };
    let read = |source: &str| ndjson::read_flat(source.as_bytes(), &columns, Precision::Seconds);
    let source = r#"{"host":"a","":{"host":"b"},"v":1}"#;
    let fields = [(".host", text("b")), ("v", integer(1))];
    check(
        source,
        read(source),
        &[record("m", &[("host", "a")], &fields, None)],
    );
    let source = r#"{"host":"","v":1}"#;
    check(
        source,
        read(source),
        &[record("m", &[], &[("v", integer(1))], None)],
    );
    let nested = Columns {
        tags: vec!["a.b".into()],
        ..Columns::of_measurement("m")
    };
    let source = r#"{"a.b":"x","a":{"b":"y"},"v":1}"#;
    check_refused(
        source,
        ndjson::read_flat(source.as_bytes(), &nested, Precision::Seconds),
        &["line 1, column 17: \"a.b\" is both a key and a path in the object"],
    );
}
