//! Comments, trailing delimiters, `InfluxDB`'s annotated CSV, and formats that a file's name does not say.

use super::check_refused;
use crate::{Columns, Format, Measurement, Precision, TimeColumn, guess, line_protocol};

/// What a file is sent as, read as it was found; and the notes.
fn lines(text: &str, format: Format) -> (Vec<String>, Vec<String>) {
    let proposal = guess(text.as_bytes(), format, "m").unwrap().unwrap();
    let records = format
        .read(
            text.as_bytes(),
            Some(&proposal.columns),
            Precision::default(),
        )
        .unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?} by {proposal:?}"));
    let line = |record| {
        let mut line = Vec::new();
        line_protocol::write(record, &mut line).unwrap();
        String::from_utf8(line).unwrap().trim_end().to_owned()
    };
    (records.iter().map(line).collect(), proposal.notes)
}

#[track_caller]
fn check(text: &str, notes: &[&str], expected: &[&str]) {
    let (records, found_notes) = lines(text, Format::Csv);
    assert_eq!(records, expected, "{text}");
    assert_eq!(found_notes, notes, "{text}");
}

const ROWS: [&str; 3] = ["m a=1i,b=2i", "m a=3i,b=4i", "m a=5i,b=6i"];

#[test]
fn comments_are_no_rows_whatever_is_in_them() {
    check("# logger, v1\na,b\n1,2\n3,4\n5,6\n", &[], &ROWS);
    check(
        "# logger\n\n# of, two, lines\na,b\n1,2\n3,4\n5,6\n",
        &[],
        &ROWS,
    );
    check("// logger; v1\na;b\n1;2\n3;4\n5;6\n", &[], &ROWS);
    check(
        "a,b\n1,2\n# calibrated, by me\n3,4\n5,6\n",
        &["comment leaves out 1 line below the header row that begins with \"#\""],
        &ROWS,
    );
    let in_comment = "header has the names of the columns, which are in a comment";
    check("#a,b\n1,2\n3,4\n5,6\n", &[in_comment], &ROWS);
    check("# logger\n# a;b\n1;2\n3;4\n5;6\n", &[in_comment], &ROWS);
    check("% a,b\n1,2\n3,4\n5,6\n", &[in_comment], &ROWS);
    let numbered = ["m #=1i,b=2i", "m #=3i,b=4i", "m #=5i,b=6i"];
    check("#,b\n1,2\n3,4\n5,6\n", &[in_comment], &numbered);
    // The name of a column in quotes begins no comment.
    check("\"#\",b\n1,2\n3,4\n5,6\n", &[], &numbered);
    // Most lines are no comments.
    let (records, notes) = lines("k,v\n#a,1\n#b,2\n#c,3\n#d,4\n", Format::Csv);
    assert_eq!((records.len(), notes.len()), (4, 0), "{records:?}");
}

#[test]
fn a_delimiter_at_the_end_of_rows_separates_nothing() {
    check("a,b\n1,2,\n3,4,\n5,6,\n", &[], &ROWS);
    check("a;b\r\n1;2;\r\n3;4;\r\n5;6;\r\n", &[], &ROWS);
    check("title\na\tb\n1\t2\t\n3\t4\t\n5\t6\t\n", &[], &ROWS);
    check("a,b,\n1,2,\n3,4,\n5,6,\n", &[], &ROWS);
    // The last column is empty in most rows.
    check(
        "a,b,c\n1,2,\n3,4,\n5,6,7\n",
        &[],
        &["m a=1i,b=2i", "m a=3i,b=4i", "m a=5i,b=6i,c=7i"],
    );
}

/// What `influx query --raw` prints, after `InfluxDB`'s documentation of annotated CSV.
const ANNOTATED: &str = "\
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,string,string,string,double\r
#group,false,false,true,true,false,true,true,true,false\r
#default,mean,,,,,,,,\r
,result,table,_start,_stop,_time,_field,_measurement,host,_value\r
,,0,2020-01-01T00:00:00Z,2020-02-01T00:00:00Z,2020-01-01T00:00:01Z,used,mem,h1,0.5\r
,,0,2020-01-01T00:00:00Z,2020-02-01T00:00:00Z,2020-01-01T00:00:02Z,used,mem,h1,1\r
\r
#datatype,string,long,dateTime:RFC3339,string,string,string,long\r
#group,false,false,false,true,true,true,false\r
#default,_result,,,,,,7\r
,result,table,_time,_field,_measurement,host,_value\r
,,1,2020-01-01T00:00:03Z,total,mem,h2,18\r
,,1,2020-01-01T00:00:04Z,total,mem,,\r
";

#[test]
fn annotated_csv_has_its_types_fields_and_tags() {
    check(
        ANNOTATED,
        &[],
        &[
            "mem,host=h1 used=0.5 1577836801000000000",
            "mem,host=h1 used=1.0 1577836802000000000",
            "mem,host=h2 total=18i 1577836803000000000",
            "mem total=7i 1577836804000000000",
        ],
    );
    // After pivot(): a column for each field.
    check(
        "#group,false,false,false,true,false,false\n#datatype,string,long,dateTime:RFC3339,string,boolean,string\n#default,,,,,,\n,result,table,_time,host,up,state\n,,0,2020-01-01T00:00:01Z,h1,true,12\n",
        &[],
        &["m,host=h1 up=true,state=\"12\" 1577836801000000000"],
    );
    // After aggregateWindow(): a row without a value for each window without data.
    check(
        "#group,false,false,false,false,true,true\n#datatype,string,long,dateTime:RFC3339,double,string,string\n#default,,,,,,\n,result,table,_time,_value,_field,_measurement\n,,0,2020-01-01T00:00:01Z,,used,mem\n,,0,2020-01-01T00:00:02Z,5,used,mem\n",
        &[],
        &["mem used=5.0 1577836802000000000"],
    );
    // With roles of one's own.
    let columns = Columns {
        time: Some(TimeColumn::of_column("_time")),
        measurement: Measurement::Name("x".into()),
        leave_out: vec!["host".into()],
        ..Columns::of_measurement("x")
    };
    let read = Format::Csv.read(ANNOTATED.as_bytes(), Some(&columns), Precision::default());
    let first = &read.unwrap()[0];
    assert_eq!(
        (&*first.measurement, first.tags.len(), first.fields.len()),
        ("x", 0, 1)
    );
}

#[test]
fn wrong_annotated_csv_is_told_by_line_and_column() {
    let columns = Columns::of_measurement("m");
    let check = |text: &str, expected: &[&str]| {
        let read = Format::Csv.read(text.as_bytes(), Some(&columns), Precision::default());
        check_refused(text, read, expected);
    };
    check(
        "#datatype,string,long,double\n,result,n,_value\n,,x,1\n,,1,NaN\n,,1\n",
        &[
            "line 3, column 3: expected an integer of 64 bits (#datatype long) in column \"n\", found \"x\"",
            "line 4, column 5: expected a finite number (#datatype double) in column \"_value\", found \"NaN\"",
            "line 5, column 1: expected 4 cells as in the header of the table, found 3",
        ],
    );
    check(
        "#datatype,string,string\n,error,reference\n,out of memory,897\n",
        &["line 3, column 1: the table is an error of the database: out of memory"],
    );
    check(
        "#datatype,string\n#constant,x\n,a\n,1\n",
        &["line 2, column 1: expected #datatype, #group or #default, found \"#constant\""],
    );
}

#[test]
fn a_text_shows_its_format() {
    let check = |text: &str, expected| {
        assert_eq!(Format::of_text(text.as_bytes()), expected, "{text}");
    };
    check(
        "\n# a comment\ncpu,host=a user=1.5 5\n",
        Format::LineProtocol,
    );
    check("\u{feff}{\"v\":1}\n{\"v\":2}\n", Format::Ndjson);
    check("{\n  \"v\": 1\n}\n", Format::Json);
    check(" [{\"v\":1}]", Format::Json);
    check("time;v\n1;2\n", Format::Csv);
    check("t,v\n1,2\n", Format::Csv);
    check("", Format::Csv);
}
