//! Queries over the sample readings, against a simple reference implementation.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use waggle_record::{FieldValue, Precision, Record, line_protocol};

use crate::support::{Gateway, store};

fn sample() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/data/host-metrics.lp");
    std::fs::read_to_string(file).unwrap()
}

fn number(value: &FieldValue) -> Option<f64> {
    match value {
        FieldValue::Float(value) => Some(*value),
        #[expect(clippy::cast_precision_loss, reason = "the sample's values are small")]
        FieldValue::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

/// A query, from which the expected answer is computed.
struct Asked<'a> {
    measurement: &'a str,
    tag: Option<(&'a str, &'a str)>,
    field: &'a str,
    times: std::ops::Range<i64>,
    window: i64,
}

/// The values of each window in the order of the log.
fn windows(records: &[Record], asked: &Asked<'_>) -> BTreeMap<i64, Vec<(i64, f64)>> {
    let mut windows: BTreeMap<i64, Vec<(i64, f64)>> = BTreeMap::new();
    for record in records {
        let time = record.time_ns.unwrap();
        let tagged = asked
            .tag
            .is_none_or(|(name, value)| record.tags.contains(&(name.to_owned(), value.to_owned())));
        let field = record.fields.iter().find(|(name, _)| name == asked.field);
        if let (true, true, true, Some((_, value))) = (
            record.measurement == asked.measurement,
            tagged,
            asked.times.contains(&time),
            field,
        ) {
            let value = number(value).unwrap();
            windows
                .entry(time - time.rem_euclid(asked.window))
                .or_default()
                .push((time, value));
        }
    }
    windows
}

fn aggregate(name: &str, values: &[(i64, f64)]) -> f64 {
    let numbers = values.iter().map(|(_, value)| *value);
    #[expect(clippy::cast_precision_loss, reason = "the sample is small")]
    let count = values.len() as f64;
    match name {
        "mean" => numbers.sum::<f64>() / count,
        "sum" => numbers.sum(),
        "min" => numbers.fold(f64::INFINITY, f64::min),
        "max" => numbers.fold(f64::NEG_INFINITY, f64::max),
        "count" => count,
        "first" => values
            .iter()
            .rev()
            .min_by_key(|(time, _)| *time)
            .map(|_| values.iter().min_by_key(|(time, _)| *time).unwrap().1)
            .unwrap(),
        "last" => values.iter().max_by_key(|(time, _)| *time).unwrap().1,
        _ => unreachable!(),
    }
}

#[track_caller]
fn check(gateway: &Gateway, records: &[Record], asked: &Asked<'_>) {
    let expected = windows(records, asked);
    assert!(!expected.is_empty());
    for name in ["mean", "sum", "min", "max", "count", "first", "last"] {
        let tag = asked.tag.map_or(String::new(), |(name, value)| {
            format!("&tag.{name}={value}")
        });
        let answer = gateway.get(&format!(
            "/api/v1/query?topic=plant&measurement={}{tag}&fields={}&from={}&to={}&aggregate={name}&window={}ns&limit=100000",
            asked.measurement, asked.field, asked.times.start, asked.times.end, asked.window
        ));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(answer["truncated"], false);
        let rows = answer["rows"].as_array().unwrap();
        let starts: Vec<i64> = rows
            .iter()
            .map(|row| row["time"].as_i64().unwrap())
            .collect();
        assert_eq!(starts, expected.keys().copied().collect::<Vec<_>>());
        for (row, values) in rows.iter().zip(expected.values()) {
            let (number, right) = (
                row["fields"][asked.field].as_f64().unwrap(),
                aggregate(name, values),
            );
            assert!(
                (number - right).abs() <= right.abs() * 1e-12,
                "{name} is {number}, not {right}"
            );
        }
    }
}

#[test]
fn aggregates_match_the_reference_implementation() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &["--query-concurrency=1"]);
    let text = sample();
    // Written in many requests, so that the log has many chunks.
    let lines: Vec<&str> = text.lines().collect();
    for part in lines.chunks(97) {
        assert_eq!(gateway.put("plant", &part.join("\n")).status, 204);
    }
    let records = line_protocol::read(text.as_bytes(), Precision::Nanoseconds).unwrap();
    let times = records.iter().map(|record| record.time_ns.unwrap());
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    let part = first + (last - first) / 3..first + (last - first) / 3 * 2;
    let question = |measurement, tag, field, times, window| Asked {
        measurement,
        tag,
        field,
        times,
        window,
    };
    for asked in [
        question(
            "cpu",
            Some(("cpu", "cpu-total")),
            "time_user",
            first..last,
            10_000_000_000,
        ),
        question("cpu", None, "time_user", part.clone(), 7_000_000_001),
        question("kernel", None, "ctxt", part, 1_000_000_000),
        question(
            "kernel",
            Some(("host", "plant-01")),
            "ctxt",
            first..last + 1,
            3_600_000_000_000_000,
        ),
    ] {
        check(&gateway, &records, &asked);
    }
}

#[test]
fn rows_are_the_matching_records() {
    let (_folder, file) = store();
    let gateway = Gateway::start(&file, &[]);
    let body = "a,h=x f=1i,g=\"s\" 1\nb,h=x f=2i 2\na,h=y f=3i 3\na,h=x g=\"t\" 4\na,h=x f=18446744073709551615u 5";
    assert_eq!(gateway.put("t", body).status, 204);
    let check = |query: &str, expected: &str| {
        let answer = gateway
            .get(&format!("/api/v1/query?topic=t&measurement=a{query}"))
            .body;
        let rows = answer.split("\"rows\":").nth(1).unwrap();
        assert_eq!(rows, format!("{expected}}}\n"), "{query}");
    };
    check(
        "&tag.h=y",
        r#"[{"time":3,"tags":{"h":"y"},"fields":{"f":3}}]"#,
    );
    check(
        "&fields=f&to=4",
        r#"[{"time":1,"tags":{"h":"x"},"fields":{"f":1}},{"time":3,"tags":{"h":"y"},"fields":{"f":3}}]"#,
    );
    check(
        "&fields=g&limit=1",
        r#"[{"time":1,"tags":{"h":"x"},"fields":{"g":"s"}}]"#,
    );
    check("&tag.h=z", "[]");
    check("&tag.nothing=x", "[]");
    check("&aggregate=count", r#"[{"time":1,"fields":{"f":3,"g":2}}]"#);
    check(
        "&aggregate=last",
        r#"[{"time":1,"fields":{"f":18446744073709551615,"g":"t"}}]"#,
    );
    check("&aggregate=sum&to=5", r#"[{"time":1,"fields":{"f":4}}]"#);
    check("&aggregate=mean&fields=g", "[]");
    assert_eq!(gateway.put("t", "a big=1e308 6\na big=1e308 7").status, 204);
    check(
        "&aggregate=sum&fields=big",
        r#"[{"time":6,"fields":{"big":null}}]"#,
    );
    let times = "a f=1i -3\na f=2i -2\na f=4i -1\na f=8i 0\na f=16i 1\na f=32i 2";
    assert_eq!(gateway.put("t", times).status, 204);
    check(
        "&aggregate=sum&window=2ns&to=2&fields=f&limit=3",
        r#"[{"time":-4,"fields":{"f":1}},{"time":-2,"fields":{"f":6}},{"time":0,"fields":{"f":25}}]"#,
    );
    let nothing = gateway
        .get("/api/v1/query?topic=unknown&measurement=a")
        .body;
    assert!(nothing.contains("\"rows\":[]"));
}

#[test]
fn texts_of_an_aggregate_count_into_the_size_of_the_answer() {
    let (_folder, file) = store();
    let flags = ["--answer-max-bytes=1000000", "--answers-max-bytes=5000000"];
    let gateway = Gateway::start(&file, &flags);
    for number in 0..40 {
        let text = format!("m f=\"{}\" {number}", "x".repeat(250_000));
        assert_eq!(gateway.put("t", &text).status, 204);
    }
    for aggregate in ["first", "last"] {
        let window = format!("aggregate={aggregate}&window=1ns&limit=100000");
        let answer = gateway.get(&format!("/api/v1/query?topic=t&measurement=m&{window}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.contains("\"truncated\":true"));
        // The last record may exceed the limit.
        assert!(answer.body.len() < 1_260_000, "{} bytes", answer.body.len());
    }
    let all = gateway.get("/api/v1/query?topic=t&measurement=m&aggregate=last");
    assert!(all.body.contains("\"truncated\":false"));
    assert!(all.body.contains("\"time\":0"));
}

#[test]
fn an_aggregate_with_more_values_than_there_is_memory_is_refused() {
    let (_folder, file) = store();
    let flags = ["--answer-max-bytes=1000000", "--answers-max-bytes=1100000"];
    let gateway = Gateway::start(&file, &flags);
    let records: String = (0..5000)
        .map(|number| format!("m f=1 {number}\n"))
        .collect();
    assert_eq!(gateway.put("t", &records).status, 204);
    let ask = |window: &str| {
        let limits = "aggregate=count&limit=100000";
        gateway.get(&format!(
            "/api/v1/query?topic=t&measurement=m&{limits}&window={window}"
        ))
    };
    assert_eq!(ask("1ns").status, 503);
    assert_eq!(ask("1us").status, 200);
}
