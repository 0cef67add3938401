//! A field has one type over a whole file, and no value changes without a mistake or a note.

use super::{check, check_refused, float, integer, record};
use crate::{Columns, FieldValue, Format, Precision, Record, guess};

fn columns() -> Columns {
    Columns {
        tags: vec!["host".into()],
        ..Columns::of_measurement("m")
    }
}

/// Objects that have a host, as NDJSON and as an array.
fn texts(values: &[&str]) -> [(Format, String); 2] {
    let objects: Vec<String> = values
        .iter()
        .map(|value| format!("{{\"host\":\"a\",\"v\":{value},\"w\":true}}"))
        .collect();
    [
        (Format::Ndjson, objects.join("\n")),
        (Format::Json, format!("[{}]", objects.join(",\n"))),
    ]
}

fn check_values(values: &[&str], expected: &[FieldValue]) {
    for (format, text) in texts(values) {
        let result = format.read(text.as_bytes(), Some(&columns()), Precision::default());
        let expected: Vec<Record> = expected
            .iter()
            .map(|value| {
                let fields = [("v", value.clone()), ("w", FieldValue::Boolean(true))];
                record("m", &[("host", "a")], &fields, None)
            })
            .collect();
        check(&text, result, &expected);
    }
}

/// The mistake of the value in a line; `problem` is without place and remedy.
fn refuse_values(values: &[&str], line: usize, problem: &str) {
    for (format, text) in texts(values) {
        let result = format.read(text.as_bytes(), Some(&columns()), Precision::default());
        let mistakes = result.unwrap_err();
        let mistake = &mistakes[0];
        // The array's bracket is before its first object.
        let column = if format == Format::Json && line == 1 {
            18
        } else {
            17
        };
        assert_eq!(
            (mistake.line, mistake.column),
            (line, column),
            "{text}: {mistakes:?}"
        );
        assert_eq!(mistake.problem, problem, "{text}");
        assert_eq!(mistakes.len(), 1, "{text}: {mistakes:?}");
    }
}

#[test]
fn numbers_are_widened_where_nothing_is_lost() {
    check_values(&["1", "2.5"], &[float(1.0), float(2.5)]);
    check_values(&["2.5", "1"], &[float(2.5), float(1.0)]);
    check_values(&["1", "-2"], &[integer(1), integer(-2)]);
    check_values(
        &["1", "18446744073709551615"],
        &[FieldValue::Unsigned(1), FieldValue::Unsigned(u64::MAX)],
    );
    let exact = 2_f64.powi(60);
    check_values(&["1152921504606846976", "0.5"], &[float(exact), float(0.5)]);
}

#[test]
fn values_of_two_types_are_mistakes() {
    refuse_values(
        &["1", "\"bad\""],
        2,
        "expected a number in field \"v\" as in line 1, found \"bad\"",
    );
    refuse_values(
        &["1", "2", "true"],
        3,
        "expected a number in field \"v\" as in line 1, found true",
    );
    refuse_values(
        &["\"on\"", "1.5"],
        2,
        "expected a text in field \"v\" as in line 1, found 1.5",
    );
    refuse_values(
        &["false", "\"x\""],
        2,
        "expected a boolean in field \"v\" as in line 1, found \"x\"",
    );
    refuse_values(
        &["9007199254740993", "1", "0.5"],
        1,
        "expected an integer that a float holds, because field \"v\" has the float 0.5 in line 3, found 9007199254740993",
    );
    refuse_values(
        &["-1", "9223372036854775808"],
        2,
        "expected an integer up to 9223372036854775807, because field \"v\" has -1 in line 1, found 9223372036854775808",
    );
    refuse_values(
        &["1", "18446744073709551616"],
        2,
        "expected a number of 64 bits, found 18446744073709551616",
    );
}

#[test]
fn nulls_and_missing_texts_have_no_type() {
    let columns = Columns {
        missing: vec!["N/A".into()],
        ..columns()
    };
    let text = "{\"v\":1,\"w\":1}\n{\"v\":null,\"w\":2}\n{\"v\":\"N/A\",\"w\":3,\"host\":\"a\"}";
    let result = Format::Ndjson.read(text.as_bytes(), Some(&columns), Precision::default());
    let (w2, w3) = ([("w", integer(2))], [("w", integer(3))]);
    check(
        text,
        result,
        &[
            record("m", &[], &[("v", integer(1)), ("w", integer(1))], None),
            record("m", &[], &w2, None),
            record("m", &[("host", "a")], &w3, None),
        ],
    );
}

#[test]
fn fields_of_another_measurement_have_types_of_their_own() {
    let object = |measurement: &str, value: &str| {
        format!("{{\"fields\":{{\"v\":{value}}},\"measurement\":{measurement:?}}}")
    };
    let objects = [object("a", "1"), object("b", "\"x\""), object("a", "1.5")];
    let expected = [
        record("a", &[], &[("v", float(1.0))], None),
        record("b", &[], &[("v", super::text("x"))], None),
        record("a", &[], &[("v", float(1.5))], None),
    ];
    let texts = [
        (Format::Ndjson, objects.join("\n")),
        (Format::Json, format!("[{}]", objects.join(",\n"))),
    ];
    for (format, text) in &texts {
        let result = format.read(text.as_bytes(), None, Precision::default());
        check(text, result, &expected);
    }
    let wrong = format!("{}\n{}", object("a", "1"), object("a", "\"x\""));
    check_refused(
        &wrong,
        Format::Ndjson.read(wrong.as_bytes(), None, Precision::default()),
        &["line 2, column 16: expected a number in field \"v\" as in line 1, found \"x\""],
    );
}

#[test]
fn a_json_file_with_an_object_a_line_names_its_format() {
    let text = "{\"v\":1}\n{\"v\":2}\n";
    check_refused(
        text,
        Format::Json.read(text.as_bytes(), Some(&columns()), Precision::default()),
        &[
            "line 2, column 1: this is not JSON: trailing characters; format: ndjson reads an object a line",
        ],
    );
}

#[test]
fn integers_of_a_table_are_not_rounded() {
    let read = |rows: &[&str]| {
        let text = format!("v\n{}\n", rows.join("\n"));
        let columns = Columns::of_measurement("m");
        let read = Format::Csv.read(text.as_bytes(), Some(&columns), Precision::default());
        read.map(|records| records[0].fields[0].1.clone())
            .map_err(|mistakes| mistakes[0].problem.clone())
    };
    let check = |rows: &[&str], expected: Result<FieldValue, &str>| {
        assert_eq!(read(rows), expected.map_err(str::to_owned), "{rows:?}");
    };
    let wrong = "expected an integer that a float holds, because no other type has all numbers of column \"v\", found";
    check(&["5", "18446744073709551615"], Ok(FieldValue::Unsigned(5)));
    check(&["5", "-5"], Ok(integer(5)));
    check(&["5", "0.5"], Ok(float(5.0)));
    check(
        &["0.5", "9007199254740993"],
        Err(&format!("{wrong} \"9007199254740993\"")),
    );
    check(
        &["-5", "18446744073709551615"],
        Err(&format!("{wrong} \"18446744073709551615\"")),
    );
    // Beyond 64 bits it stays a text.
    check(
        &["18446744073709551616"],
        Ok(super::text("18446744073709551616")),
    );
}

#[test]
fn a_look_at_a_file_says_what_its_numbers_become() {
    let check = |text: &str, format, notes: &[&str], widened: &[&str], missing: &[&str]| {
        let proposal = guess(text.as_bytes(), format, "m").unwrap().unwrap();
        assert_eq!(proposal.notes, notes, "{text}");
        assert_eq!(proposal.widened, widened, "{text}");
        assert_eq!(proposal.columns.missing, missing, "{text}");
        let read = format.read(
            text.as_bytes(),
            Some(&proposal.columns),
            Precision::default(),
        );
        assert!(read.is_ok(), "{text}: {read:?}");
    };
    let lines = "{\"v\":1,\"w\":1}\n{\"v\":1.5,\"w\":2}\n";
    check(lines, Format::Ndjson, &[], &["v"], &[]);
    check("[{\"v\":1},\n {\"v\":1.5}]", Format::Json, &[], &["v"], &[]);
    let marks = "{\"v\":1}\n{\"v\":\"NAN\"}\n{\"v\":2}\n";
    check(marks, Format::Ndjson, &[], &[], &["NAN"]);
    let digits = "column \"v\" has more digits than a float of 64 bits: \"0.1234567890123456789\" in line 3 is sent as 0.12345678901234568";
    check(
        "v,w\n0.5,a\n0.1234567890123456789,b\n",
        Format::Csv,
        &[digits],
        &[],
        &[],
    );
    check(
        "{\"w\":1}\n{\"v\":0.5}\n{\"v\":0.1234567890123456789}",
        Format::Ndjson,
        &[digits],
        &[],
        &[],
    );
    // As many digits as a program prints of a float: 0.1 with twenty.
    check(
        "v\n0.10000000000000000555\n1.00000000000000000000e+00\n",
        Format::Csv,
        &[],
        &[],
        &[],
    );
    let phone = "column \"v\" is read as texts, such as \"+12345678\" in line 2: a plus sign before eight or more digits is that of a telephone number";
    let rows: String = (0..9).map(|row| format!("+1234567{row},1\n")).collect();
    let rows = rows.replacen("+12345670", "+12345678", 1);
    check(&format!("v,w\n{rows}"), Format::Csv, &[phone], &[], &[]);
}

#[test]
fn values_of_two_types_are_no_tag() {
    let text = "{\"v\":1,\"w\":1}\n{\"v\":\"x\",\"w\":1}\n".repeat(10);
    let proposal = guess(text.as_bytes(), Format::Ndjson, "m").unwrap();
    assert!(proposal.unwrap().columns.tags.is_empty());
}

#[test]
fn half_of_a_column_without_values() {
    let rows: String = (0..10)
        .map(|row| format!("{row},N/A\n{row},{row}.5\n"))
        .collect();
    let text = format!("t,v\n{rows}");
    let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
    assert_eq!(proposal.columns.missing, ["N/A"]);
    assert!(proposal.notes.is_empty(), "{:?}", proposal.notes);
    let records = Format::Csv.read(
        text.as_bytes(),
        Some(&proposal.columns),
        Precision::default(),
    );
    let records = records.unwrap();
    assert_eq!(records[0].fields, [("t".into(), integer(0))]);
    assert_eq!(records[1].fields[1], ("v".into(), float(0.5)));
}
