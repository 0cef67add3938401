//! Parses a YAML document, such as an OpenAPI document, to plain values: aliases are resolved, tags are ignored.
//!
//! Crate `study` has the syntax and its mistakes. It parses study files, too: it keeps positions and is stricter.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use saphyr_parser::{Event, ScalarStyle};
use serde_json::{Map, Value};
use waggle_study::YamlText;

use super::{exact, slot};

/// Maximum nesting.
const DEPTH_MAX: usize = 100;
/// Maximum number of values, including those that aliases repeat, so a small text cannot grow without bound.
const VALUES_MAX: usize = 5_000_000;

/// Parses the first document of a text.
pub(super) fn read(text: &str) -> Result<Value> {
    let mut reader = Reader::default();
    let text = YamlText::new(text);
    for event in text.events() {
        let (event, span) = event?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        if let Err(why) = reader.take(event) {
            bail!("{}:{}: {why}", span.start.line(), span.start.col() + 1);
        }
    }
    Ok(reader.root.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    root: Option<Value>,
    anchors: BTreeMap<usize, Value>,
    values: usize,
}

/// A map or list that is being parsed.
struct Open {
    value: Value,
    key: Option<String>,
    anchor: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = if style == ScalarStyle::Plain {
                    exact::number(&text).unwrap_or_else(|| plain(&text))
                } else {
                    // An escape may stand for one.
                    Value::String(slot::without_noncharacters(&text))
                };
                self.insert(value, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Value::Array(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.begin(Value::Object(Map::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(done) => self.insert(done.value, done.anchor),
                None => bail!("an unexpected end of a map or list"),
            },
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor) else {
                    bail!("an alias without its anchor");
                };
                // Checked before it is copied.
                self.values += size(value);
                if self.values > VALUES_MAX {
                    bail!("more than {VALUES_MAX} values");
                }
                let value = value.clone();
                self.insert(value, 0)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, anchor: usize) -> Result<()> {
        if self.open.len() == DEPTH_MAX {
            bail!("nested deeper than {DEPTH_MAX} levels");
        }
        self.open.push(Open {
            value,
            key: None,
            anchor,
        });
        Ok(())
    }

    fn insert(&mut self, value: Value, anchor: usize) -> Result<()> {
        self.values += 1;
        if self.values > VALUES_MAX {
            bail!("more than {VALUES_MAX} values");
        }
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (Value::Array(items), _) => items.push(value),
            (Value::Object(members), Some(key)) => {
                members.insert(key, value);
            }
            (Value::Object(_), None) => open.key = Some(key_of(value)?),
            _ => bail!("an unexpected value"),
        }
        Ok(())
    }
}

/// A key as text; OpenAPI documents often have statuses as numbers.
fn key_of(value: Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(slot::exact_digits(&text).unwrap_or(&text).to_owned()),
        Value::Object(_) | Value::Array(_) => bail!("a key is a mapping or a list"),
        Value::Null => Ok("null".to_owned()),
        other => Ok(other.to_string()),
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// Parses a plain scalar by the core schema of YAML.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let starts = text.trim_start_matches(['-', '+']);
    if !starts.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Value::String(text.to_owned());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Value::from(whole);
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Value::from(whole);
    }
    let number = text
        .parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn documents_are_understood() {
        let check = |text: &str, expected: serde_json::Value| {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        };
        check("", json!(null));
        check(
            "a: 1\nb: [x, 2.5, true, ~]\n",
            json!({"a": 1, "b": ["x", 2.5, true, null]}),
        );
        check("200: '3.0'\n", json!({"200": "3.0"}));
        check(
            "a: &x {b: 1}\nc: *x\n",
            json!({"a": {"b": 1}, "c": {"b": 1}}),
        );
        check(
            "a: 3.0.1\nb: -x\nc: |\n  t\n",
            json!({"a": "3.0.1", "b": "-x", "c": "t\n"}),
        );
        check("--- a\n--- b\n", json!("a"));
        // A collection over several lines may end at the column of its key, whatever its last item is.
        for item in ["x", "\"x\"", "'x'", "\"x\",", "\n  \"x\"\n"] {
            check(
                &format!("m:\n  a: [\n    {item}\n  ]\n  b: 1\n"),
                json!({"m": {"a": ["x"], "b": 1}}),
            );
        }
        check(
            "m:\n  a: {\n    b: {},\n    c: \"x\n    y\"\n  }\n",
            json!({"m": {"a": {"b": {}, "c": "x y"}}}),
        );
        for text in ["a: [", "? {a: 1}\n: 2\n", "a: *b", &"[".repeat(1_000)] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn mistakes_have_their_places() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
        };
        check(
            "a: [\nb: 1\n",
            "1:4: the [ is not closed; expected ] at its end",
        );
        check("a: 1\nb:2\nc: 3\n", "2:3: a space is missing after `b:`");
        check("a: 1\n? {a: 1}\n: 2\n", "2:8: a key is a mapping or a list");
    }

    #[test]
    fn a_small_text_does_not_grow_without_bound() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            text.push_str(&format!(
                "a{level}: &a{level} [{}]\n",
                before.trim_end_matches(", ")
            ));
        }
        assert!(read(&text).is_err());
    }
}
