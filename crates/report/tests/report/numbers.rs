//! The table that holds the words of the report and the scripts of its page to one rule; `tests/browser` reads it too.

use serde_json::Value;
use waggle_metrics::Unit;
use waggle_report::wording::{
    format::{self, Unit as Shown},
    search::level,
};
use waggle_spec::LevelKind;
use waggle_stats::Estimate;

const TABLE: &str = include_str!("../numbers.json");

fn in_unit(estimate: &Estimate, unit: Unit) -> String {
    let point = format::in_unit(estimate.point, unit);
    match estimate.interval {
        Some(ends) => format!("{point} ({})", format::ends_in_unit(ends, unit)),
        None => point,
    }
}

fn value_text(unit: &str, estimate: &Estimate) -> String {
    match unit {
        "plain" => format::long(Some(estimate), Shown::Plain),
        "count" => in_unit(estimate, Unit::Count),
        "rate" => in_unit(estimate, Unit::Rate),
        "time" => in_unit(estimate, Unit::Time),
        "share" => in_unit(estimate, Unit::Share),
        "bytes" => in_unit(estimate, Unit::Bytes),
        "byte_rate" => in_unit(estimate, Unit::ByteRate),
        "ratio" => format::ratio(estimate),
        "points" => format::points(estimate),
        "users" => level(LevelKind::Users, estimate.point),
        "connections" => level(LevelKind::Connections, estimate.point),
        "rate_level" => level(LevelKind::Rate, estimate.point),
        other => panic!("no unit is called {other}"),
    }
}

#[test]
fn numbers_are_written_by_the_rule() {
    let table: Vec<Value> = serde_json::from_str(TABLE).unwrap();
    for row in &table {
        let ends = row.get("ends");
        let estimate = Estimate {
            point: row["value"].as_f64().unwrap(),
            interval: ends.map(|ends| {
                let high = ends[1].as_f64().unwrap_or(f64::INFINITY);
                (ends[0].as_f64().unwrap(), high)
            }),
            count: 3,
            least: None,
        };
        let unit = row["unit"].as_str().unwrap();
        assert_eq!(row["text"], value_text(unit, &estimate), "{row}");
        // Sentences and tables of quantities without a metric write the same.
        if unit == "time" {
            assert_eq!(row["text"], format::long(Some(&estimate), Shown::Time));
        }
    }
}
