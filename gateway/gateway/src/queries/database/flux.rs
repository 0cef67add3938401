//! A query's text in Flux. Everything from a client is written as a number, or as a string in which every byte but letters and
//! digits is escaped. Pure.

use std::{fmt::Write, time::Duration};

use crate::queries::aggregate::Aggregate;

/// The earliest and latest time of the database; ranges end before their stop.
const TIME_MIN: i64 = i64::MIN + 2;
const TIME_STOP: i64 = i64::MAX;

/// Names of the results of a query.
pub(super) const SUM: &str = "sum";
pub(super) const COUNT: &str = "count";
pub(super) const EARLIEST: &str = "earliest";

/// A query, in the terms of the call.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) bucket: String,
    pub(crate) measurement: String,
    pub(crate) tags: Vec<(String, String)>,
    /// Empty means all.
    pub(crate) fields: Vec<String>,
    /// Earliest and latest time, both included.
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) aggregate: Option<(Aggregate, Option<Duration>)>,
    /// Most rows.
    pub(crate) limit: usize,
}

impl Question {
    /// Whether nothing can match: no database has such times and tags, and in Flux they would be an error or mean something else.
    pub(super) fn matches_nothing(&self) -> bool {
        let columns = [
            "_measurement",
            "_field",
            "_value",
            "_time",
            "_start",
            "_stop",
        ];
        let is_no_tag =
            |(name, value): &(String, String)| value.is_empty() || columns.contains(&name.as_str());
        let is_empty = self.from > self.until || self.until < TIME_MIN || self.from == TIME_STOP;
        is_empty || self.tags.iter().any(is_no_tag)
    }

    /// The query. Tables of its results have one series and one field each.
    pub(super) fn text(&self) -> String {
        let points = self.points();
        let Some((aggregate, window)) = self.aggregate else {
            // The first rows overall are among the first rows of each table.
            let limit = self.limit.saturating_add(1);
            return format!("{points} |> limit(n: {limit})\n");
        };
        let is_of_numbers = matches!(
            aggregate,
            Aggregate::Mean | Aggregate::Sum | Aggregate::Min | Aggregate::Max
        );
        let mut text = String::new();
        if is_of_numbers {
            text.push_str("import \"types\"\n");
        }
        let _ = write!(text, "points = {points}");
        if is_of_numbers {
            text.push_str(" |> filter(fn: (r) => types.isNumeric(v: r._value))");
        }
        text.push('\n');
        let windows = match window {
            Some(window) => {
                let every = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
                let _ = writeln!(text, "windows = points |> window(every: {every}ns)");
                "windows"
            }
            None => {
                let _ = writeln!(text, "points |> first() |> yield(name: \"{EARLIEST}\")");
                "points"
            }
        };
        let mut result = |call: &str| {
            let _ = writeln!(text, "{windows} |> {call}() |> yield(name: \"{call}\")");
        };
        if aggregate == Aggregate::Mean {
            result(SUM);
            result(COUNT);
        } else {
            result(aggregate.name());
        }
        text
    }

    fn points(&self) -> String {
        let mut text = format!(
            "from(bucket: {}) |> range(start: {}, stop: {}) |> filter(fn: (r) => r[\"_measurement\"] == {}",
            string(&self.bucket),
            time(self.from.max(TIME_MIN)),
            time(self.until.saturating_add(1)),
            string(&self.measurement)
        );
        for (name, value) in &self.tags {
            let _ = write!(text, " and r[{}] == {}", string(name), string(value));
        }
        text.push(')');
        for (index, field) in self.fields.iter().enumerate() {
            text.push_str(if index == 0 {
                " |> filter(fn: (r) => "
            } else {
                " or "
            });
            let _ = write!(text, "r[\"_field\"] == {}", string(field));
        }
        if !self.fields.is_empty() {
            text.push(')');
        }
        text
    }
}

fn time(nanoseconds: i64) -> String {
    format!("time(v: {nanoseconds})")
}

/// The text as a Flux string: letters and digits as they are, every other byte as `\x` and its number.
pub(super) fn string(text: &str) -> String {
    let mut string = String::from("\"");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.' | b',' | b'/') {
            string.push(char::from(byte));
        } else {
            let _ = write!(string, "\\x{byte:02x}");
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            bucket: "b".into(),
            measurement: "m".into(),
            tags: Vec::new(),
            fields: Vec::new(),
            from: i64::MIN,
            until: i64::MAX,
            aggregate: None,
            limit: 3,
        }
    }

    #[test]
    fn no_text_ends_its_string() {
        for text in [
            "\"",
            "\\",
            "${x}",
            "\n",
            "\\\"",
            "\") |> to(bucket: \"b",
            "ü",
            "\0",
        ] {
            let string = string(text);
            let inside = &string[1..string.len() - 1];
            let is_plain = |byte: u8| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b' ' | b'_' | b'-' | b'.' | b',' | b'/' | b'\\')
            };
            assert!(inside.bytes().all(is_plain), "{string}");
            // Each backslash starts an escape.
            for after in inside.split('\\').skip(1) {
                assert!(after.starts_with('x') && after.len() >= 3, "{string}");
            }
        }
        assert_eq!(string("a\"ü"), "\"a\\x22\\xc3\\xbc\"");
    }

    #[test]
    fn a_question_is_a_filter_and_a_limit() {
        let mut question = question();
        question.tags = vec![("t".into(), "v\"".into())];
        question.fields = vec!["f".into(), "g".into()];
        (question.from, question.until) = (5, 9);
        assert_eq!(
            question.text(),
            "from(bucket: \"b\") |> range(start: time(v: 5), stop: time(v: 10)) \
             |> filter(fn: (r) => r[\"_measurement\"] == \"m\" and r[\"t\"] == \"v\\x22\") \
             |> filter(fn: (r) => r[\"_field\"] == \"f\" or r[\"_field\"] == \"g\") |> limit(n: 4)\n"
        );
    }

    #[test]
    fn impossible_queries_are_not_sent() {
        assert!(!question().matches_nothing());
        for (name, value) in [("t", ""), ("_field", "f"), ("_measurement", "m")] {
            let mut question = question();
            question.tags.push((name.into(), value.into()));
            assert!(question.matches_nothing(), "{name}");
        }
        let mut question = question();
        (question.from, question.until) = (5, 4);
        assert!(question.matches_nothing());
    }
}
