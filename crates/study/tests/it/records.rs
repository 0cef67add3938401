//! Records of a request: formats, roles and layout of a table.

use waggle_spec::RecordsFormat;
use waggle_study::{Body, RecordDecimal, RecordMeasurement, RecordTime, Table};

use super::accepted::{read_valid_study, request};

#[test]
fn records_of_a_table_with_all_its_keys() {
    let records = r#"{ file: a.csv.gz, measurement: { column: line }, time: { column: [date, time], format: "%d.%m.%Y %H:%M", zone: "+01:00" }, tags: [host], fields: [a], leave_out: [b], missing: ["-999"], skip_empty: true, delimiter: "\t", decimal: comma, skip_lines: 1, skip_after_header: 2, header: [line, date], comment: "//", encoding: windows-1252 }"#;
    let study = read_valid_study(&[("{ file: orders.lp, per_request: 1 }", records)]);
    let Body::Records(body) = &request(&study.cells[0]).body else {
        panic!("no records")
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let expected = Table {
        measurement: Some(RecordMeasurement::Column("line".into())),
        time: Some(RecordTime {
            columns: names(&["date", "time"]),
            format: Some("%d.%m.%Y %H:%M".into()),
            zone: Some("+01:00".into()),
        }),
        tags: names(&["host"]),
        fields: Some(names(&["a"])),
        leave_out: names(&["b"]),
        missing: names(&["-999"]),
        skip_empty: true,
        delimiter: Some('\t'),
        decimal: Some(RecordDecimal::Comma),
        skip_lines: 1,
        skip_after_header: 2,
        header: Some(names(&["line", "date"])),
        comment: Some("//".into()),
        encoding: Some("windows-1252".into()),
    };
    assert_eq!(body.table, expected);
}

#[test]
fn records_in_other_formats() {
    let check = |records: &str, format: RecordsFormat, send_as: RecordsFormat| {
        let study = read_valid_study(&[("{ file: orders.lp, per_request: 1 }", records)]);
        let Body::Records(body) = &request(&study.cells[0]).body else {
            panic!("no records")
        };
        assert_eq!((body.format, body.send_as), (format, send_as), "{records}");
    };
    let line = RecordsFormat::LineProtocol;
    check(
        "{ file: a.csv, measurement: m, time: t, tags: [host] }",
        RecordsFormat::Csv,
        line,
    );
    check(
        "{ file: a.NDJSON, send_as: json }",
        RecordsFormat::Ndjson,
        RecordsFormat::Json,
    );
    check(
        "{ file: readings, format: line-protocol, send_as: ndjson }",
        line,
        RecordsFormat::Ndjson,
    );
}
