//! CSV: quotes, types by column, roles of columns, and mistakes with their positions.

use super::{check, check_refused, float, integer, record, text};
use crate::{Columns, FieldValue, Precision, csv};

fn columns() -> Columns {
    Columns {
        measurement: "m".into(),
        time: Some("time".into()),
        tags: vec!["host".into()],
    }
}

fn check_csv(source: &str, expected: &[crate::Record]) {
    check(
        source,
        csv::read(source.as_bytes(), &columns(), Precision::Seconds),
        expected,
    );
}

fn refuse_csv(source: &str, expected: &[&str]) {
    check_refused(
        source,
        csv::read(source.as_bytes(), &columns(), Precision::Seconds),
        expected,
    );
}

#[test]
fn rows_become_records() {
    let first = record(
        "m",
        &[("host", "a")],
        &[("load", float(1.0))],
        Some(1_000_000_000),
    );
    let second = record("m", &[], &[("load", float(1.5))], Some(2_000_000_000));
    let rows = [first, second];
    check_csv("time,host,load\n1,a,1\n2,,1.5\n", &rows);
    check_csv(
        "\u{feff}time,host,load\r\n\r\n1,a,1\r\n1970-01-01T00:00:02Z,,1.5",
        &rows,
    );
    check_csv(
        "\"time\",\"host\",\"load\"\n\"1\",\"a\",\"1\"\n\"2\",\"\",\"1.5\"\n",
        &rows,
    );
    check_csv("time,host,load\n", &[]);
}

#[test]
fn a_column_has_one_type() {
    let column = |cells: [&str; 2], expected: [FieldValue; 2]| {
        let source = format!("time,host,f\n1,a,{}\n1,a,{}", cells[0], cells[1]);
        let records = expected
            .map(|value| record("m", &[("host", "a")], &[("f", value)], Some(1_000_000_000)));
        check_csv(&source, &records);
    };
    column(["1", "-2"], [integer(1), integer(-2)]);
    column(["1", "2.5"], [float(1.0), float(2.5)]);
    column(
        ["18446744073709551615", "9223372036854775808"],
        [
            FieldValue::Unsigned(u64::MAX),
            FieldValue::Unsigned(1 << 63),
        ],
    );
    column(
        ["true", "false"],
        [FieldValue::Boolean(true), FieldValue::Boolean(false)],
    );
    column(["1", "x"], [text("1"), text("x")]);
    column(["true", "1"], [text("true"), text("1")]);
    column(["NaN", "1.5"], [text("NaN"), text("1.5")]);
    column(
        ["123456789012345678901234567890", "1"],
        [text("123456789012345678901234567890"), text("1")],
    );
    column(
        ["\"a, \"\"b\"\"\nc\"", " d "],
        [text("a, \"b\"\nc"), text(" d ")],
    );
}

#[test]
fn mistakes_and_their_positions() {
    refuse_csv(
        "",
        &["line 1, column 1: expected a header row, found an empty file"],
    );
    refuse_csv(
        "load,load,\n",
        &[
            "line 1, column 1: the header has no column \"time\"",
            "line 1, column 1: the header has no column \"host\"",
            "line 1, column 6: column \"load\" occurs twice in the header",
            "line 1, column 11: a column's name is empty",
        ],
    );
    refuse_csv(
        "time,host,f\n1,a\nx,ä\\,1\n1,\"two\nlines\",2\n\n1,a,\n",
        &[
            "line 2, column 1: expected 3 cells as in the header, found 2",
            "line 3, column 1: expected a time like 2026-11-21T08:00:00Z, found \"x\"",
            "line 3, column 3: a tag value ends in a backslash, which line protocol cannot say: \"ä\\\\\"",
            "line 4, column 3: a tag value holds a line break: \"two\\nlines\"",
            "line 7, column 1: the row has no fields",
        ],
    );
    refuse_csv(
        "time,host,f\n1,ä\"b,1\n1,\"a\"b,1\n1,\"a,1\n",
        &[
            "line 2, column 4: a cell with a quote in it must be quoted, and the quote doubled",
            "line 3, column 6: expected a comma or the end of the row after the closing quote",
            "line 4, column 3: the quote that opens here is not closed",
        ],
    );
}
