//! CSV: quotes, types by column, roles of columns, and mistakes with their positions.

use super::{check, check_refused, float, integer, record, text};
use crate::{
    Columns, Decimal, FieldValue, Layout, Measurement, Precision, TimeColumn, TimeFormat, Zone, csv,
};

fn columns() -> Columns {
    Columns {
        time: Some(TimeColumn::of_column("time")),
        tags: vec!["host".into()],
        ..Columns::of_measurement("m")
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
            "line 1, column 1: the header has no column \"time\"; its columns are \"load\", \"load\", \"\"",
            "line 1, column 1: the header has no column \"host\"; its columns are \"load\", \"load\", \"\"",
            "line 1, column 6: column \"load\" occurs twice in the header",
            "line 1, column 11: a column's name is empty; leave_out: names columns that are not used",
        ],
    );
    refuse_csv(
        "time,host,f\n1,a\nx,ä\\,1\n1,\"two\nlines\",2\n\n1,a,\n",
        &[
            "line 2, column 1: expected 3 cells as in the header, found 2; correct the row; skip_lines and comment leave out lines that are none",
            "line 3, column 1: expected a time like 2026-11-21T08:00:00Z, found \"x\"; time.format is the pattern of the times, such as \"%d.%m.%Y %H:%M:%S\"",
            "line 3, column 3: a tag value ends in a backslash, which line protocol cannot say: \"ä\\\\\"",
            "line 4, column 3: a tag value holds a line break: \"two\\nlines\"",
            "line 7, column 1: the row has no fields; skip_empty: true leaves out rows without values",
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

/// Columns of a table with a layout of its own: time `t`, tags `h`.
fn check_layout(change: impl FnOnce(&mut Columns), source: &str, expected: &[&str]) {
    let mut columns = Columns::of_measurement("m");
    columns.time = Some(TimeColumn::of_column("t"));
    change(&mut columns);
    let records = csv::read(source.as_bytes(), &columns, Precision::Seconds)
        .unwrap_or_else(|mistakes| panic!("{source}: {mistakes:?}"));
    let lines: Vec<String> = records
        .iter()
        .map(|record| {
            let mut line = Vec::new();
            crate::line_protocol::write(record, &mut line).unwrap();
            String::from_utf8(line).unwrap().trim_end().to_owned()
        })
        .collect();
    assert_eq!(lines, expected, "{source}");
}

#[test]
fn delimiters_are_found_or_named() {
    for delimiter in [",", ";", "\t", "|"] {
        let source = "t;a;b\n1;2;\"x;y,z|\t\"\n".replace(';', delimiter);
        let text = "x;y,z|\t".replace(';', delimiter);
        let expected = format!("m a=2i,b=\"{text}\" 1000000000");
        check_layout(|_| {}, &source, &[&expected]);
    }
    let named = |columns: &mut Columns| columns.layout.delimiter = Some(';');
    check_layout(named, "t;a,b,c\n1;2\n", &["m a\\,b\\,c=2i 1000000000"]);
}

#[test]
fn decimal_commas_are_named() {
    let comma = |columns: &mut Columns| columns.layout.decimal = Some(Decimal::Comma);
    check_layout(
        comma,
        "t;a\n1;2,5\n2;-3\n",
        &["m a=2.5 1000000000", "m a=-3.0 2000000000"],
    );
    // A point may separate thousands.
    check_layout(comma, "t;a\n1;1.000,5\n", &["m a=1000.5 1000000000"]);
    let point = |columns: &mut Columns| columns.layout.decimal = Some(Decimal::Point);
    check_layout(point, "t;a\n1;2,5\n", &["m a=\"2,5\" 1000000000"]);
    refuse_csv(
        "time;host;a\n1;x;2,5\n",
        &[
            "line 2, column 5: column \"a\" has numbers with a comma, such as \"2,5\"; decimal: comma reads them as numbers, decimal: point as texts",
        ],
    );
}

#[test]
fn lines_that_are_no_rows() {
    let skipped = |columns: &mut Columns| {
        columns.layout = Layout {
            skip_lines: 2,
            skip_after_header: 1,
            comment: Some("#".into()),
            ..Layout::default()
        };
    };
    check_layout(
        skipped,
        "\"title,\n\nt,a\ns,V\n# note\n1,2\n#3,4",
        &["m a=2i 1000000000"],
    );
    let named = |columns: &mut Columns| columns.layout.header = Some(vec!["t".into(), "a".into()]);
    check_layout(
        named,
        "1,2\n2,3\n",
        &["m a=2i 1000000000", "m a=3i 2000000000"],
    );
}

#[test]
fn columns_have_roles() {
    let roles = |columns: &mut Columns| {
        columns.measurement = Measurement::Column("kind".into());
        columns.fields = Some(vec!["a".into()]);
        columns.leave_out = vec!["".into()];
        columns.missing = vec!["NAN".into()];
        columns.skip_empty = true;
    };
    let source = "t,kind,a,b,,\n1,oven,2,x,y,z\n2,oven,NAN,x,,\n3,mill,,x,,\n4,mill,5,,,\n";
    check_layout(
        roles,
        source,
        &["oven a=2i 1000000000", "mill a=5i 4000000000"],
    );
    refuse_csv(
        "time,host,,\n1,x,2,3\n",
        &[
            "line 1, column 11: a column's name is empty; leave_out: names columns that are not used",
            "line 1, column 12: column \"\" occurs twice in the header",
            "line 1, column 12: a column's name is empty; leave_out: names columns that are not used",
        ],
    );
}

fn check_time(format: &TimeFormat, zone: &str, cell: &str, expected_ns: i64) {
    let time = TimeColumn {
        columns: vec!["t".into()],
        format: format.clone(),
        zone: Zone::parse(zone).unwrap(),
    };
    let expected = format!("m a=1i {expected_ns}");
    let change = |columns: &mut Columns| columns.time = Some(time);
    check_layout(change, &format!("t;a\n{cell};1\n"), &[&expected]);
}

#[test]
fn times_have_formats_and_zones() {
    const NS: i64 = 1_583_748_873_000_000_000;
    const HOUR: i64 = 3_600_000_000_000;
    let standard = TimeFormat::Standard;
    check_time(&standard, "Z", "2020-03-09 10:14:33", NS);
    check_time(&standard, "+01:00", "2020-03-09T10:14:33", NS - HOUR);
    check_time(&standard, "+01:00", "2020-03-09 10:14:33Z", NS);
    check_time(&standard, "Z", "1583748873", NS);
    let check_pattern = |pattern: &str, zone: &str, cell: &str, expected_ns: i64| {
        check_time(
            &TimeFormat::Pattern(pattern.to_owned()),
            zone,
            cell,
            expected_ns,
        );
    };
    let day_first = "%d.%m.%Y %H:%M:%S";
    check_pattern(
        day_first,
        "-02:30",
        "09.03.2020 10:14:33",
        NS + 5 * HOUR / 2,
    );
    let half_days = "%m/%d/%y %I:%M:%S %p";
    check_pattern(half_days, "Z", "03/09/20 10:14:33 PM", NS + 12 * HOUR);
    check_pattern("%s", "+01:00", "1583748873", NS);
    let milliseconds = TimeFormat::Epoch(Precision::Milliseconds);
    check_time(&milliseconds, "Z", "1583748873123", NS + 123_000_000);
    let seconds = TimeFormat::Epoch(Precision::Seconds);
    check_time(&seconds, "Z", "1583748873.123456789123", NS + 123_456_789);
    check_time(&seconds, "Z", "-1.5", -1_500_000_000);
}

#[test]
fn zones_and_patterns_are_checked() {
    let zone = Zone::parse("Mars/Olympus").unwrap_err().to_string();
    assert!(zone.contains("expected a time zone"), "{zone}");
    assert!(crate::check_pattern("%d.%m.%Y %H:%M").is_ok());
    for (pattern, expected) in [
        ("%H:%M", "a pattern with a date"),
        ("%Y-%m-%d %!", "expected a pattern"),
    ] {
        let problem = crate::check_pattern(pattern).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn rows_that_are_wrong_in_unusual_ways() {
    let mut columns = Columns::of_measurement("m");
    columns.layout.header = Some(Vec::new());
    let result = csv::read(b"a\"b\n", &columns, Precision::Seconds);
    assert_eq!(result.unwrap_err().len(), 1);
    refuse_csv(
        "\u{feff}time,host,host\n",
        &["line 1, column 11: column \"host\" occurs twice in the header"],
    );
    refuse_csv(
        "time;host;a\n1;x;2;\"\"\n",
        &[
            "line 2, column 1: expected 3 cells as in the header, found 4; correct the row; skip_lines leaves out lines before the header row, if another line is that",
        ],
    );
    // One text among numbers with a comma.
    refuse_csv(
        "time;host;a\n1;x;2,5\n2;x;2,6\n3;x;NAN\n",
        &[
            "line 2, column 5: column \"a\" has numbers with a comma, such as \"2,5\"; decimal: comma reads them as numbers, decimal: point as texts",
        ],
    );
}
