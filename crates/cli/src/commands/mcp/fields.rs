//! The fields of a tool: one table, from which come the JSON Schema that clients are told and the check of what they send.

use std::{fmt, time::Duration};

use serde_json::{Map, Value, json};
use waggle_units::nearest_word;

/// Letters of a text.
const TEXT_MAX: usize = 4096;
/// Texts of a list.
const LIST_MAX: usize = 64;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Texts,
    Flag,
    /// Whole seconds, at most so many.
    Seconds(u64),
}

/// One field of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    /// What it is, for clients.
    pub(super) about: &'static str,
}

impl Kind {
    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string", "minLength": 1, "maxLength": TEXT_MAX }),
            Self::Texts => {
                json!({ "type": "array", "items": Self::Text.schema(), "maxItems": LIST_MAX })
            }
            Self::Flag => json!({ "type": "boolean" }),
            Self::Seconds(max) => json!({ "type": "integer", "minimum": 0, "maximum": max }),
        }
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value
                .as_str()
                .is_some_and(|text| (1..=TEXT_MAX).contains(&text.chars().count())),
            Self::Texts => value.as_array().is_some_and(|list| {
                list.len() <= LIST_MAX && list.iter().all(|item| Self::Text.holds(item))
            }),
            Self::Flag => value.is_boolean(),
            Self::Seconds(max) => value.as_u64().is_some_and(|seconds| seconds <= max),
        }
    }

    fn expectation(self) -> String {
        match self {
            Self::Text => format!("a text of 1 to {TEXT_MAX} letters"),
            Self::Texts => {
                format!("a list of up to {LIST_MAX} texts, each of 1 to {TEXT_MAX} letters")
            }
            Self::Flag => "true or false".to_owned(),
            Self::Seconds(max) => format!("a whole number of seconds, at most {max}"),
        }
    }
}

/// The JSON Schema of an object with these fields and no others.
pub(super) fn schema(fields: &[Field]) -> Map<String, Value> {
    let mut properties = Map::new();
    for field in fields {
        let mut property = field.kind.schema();
        property["description"] = field.about.into();
        properties.insert(field.name.to_owned(), property);
    }
    let required = fields.iter().filter(|field| field.is_required);
    let required: Vec<&str> = required.map(|field| field.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Every mistake in what a client sent, each with its field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistakes(Vec<String>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for Mistakes {}

/// What a client sent, checked.
#[derive(Debug)]
pub(super) struct Given(Map<String, Value>);

impl Given {
    /// # Errors
    /// A field is missing, unknown, or does not hold what it should.
    pub(super) fn check(fields: &[Field], given: Map<String, Value>) -> Result<Self, Mistakes> {
        let mut mistakes = Vec::new();
        for field in fields {
            let name = field.name;
            match given.get(name) {
                None if field.is_required => mistakes.push(format!("{name}: it is missing")),
                Some(value) if !field.kind.holds(value) => {
                    mistakes.push(format!("{name}: expected {}", field.kind.expectation()));
                }
                None | Some(_) => {}
            }
        }
        let names = || fields.iter().map(|field| field.name);
        for name in given.keys() {
            if names().all(|known| known != name) {
                let near = nearest_word(name, names());
                let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                mistakes.push(format!("{name}: there is no such field{hint}"));
            }
        }
        match mistakes.is_empty() {
            true => Ok(Self(given)),
            false => Err(Mistakes(mistakes)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn seconds(&self, name: &str) -> Option<Duration> {
        self.0.get(name)?.as_u64().map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [Field; 4] = [
        Field {
            name: "study",
            kind: Kind::Text,
            is_required: true,
            about: "the study",
        },
        Field {
            name: "filter",
            kind: Kind::Texts,
            is_required: false,
            about: "cells",
        },
        Field {
            name: "quick",
            kind: Kind::Flag,
            is_required: false,
            about: "short",
        },
        Field {
            name: "wait",
            kind: Kind::Seconds(60),
            is_required: false,
            about: "how long",
        },
    ];

    fn check(given: Value, expected: &[&str]) {
        let Value::Object(object) = given.clone() else {
            panic!("{given}")
        };
        let mistakes = Given::check(&FIELDS, object).err();
        let mistakes = mistakes.map_or_else(Vec::new, |Mistakes(mistakes)| mistakes);
        assert_eq!(mistakes, expected, "{given}");
        // The schema that clients are told says the same.
        let schema = Value::Object(schema(&FIELDS));
        let is_valid = jsonschema::validator_for(&schema).unwrap().is_valid(&given);
        assert_eq!(is_valid, expected.is_empty(), "{given}");
    }

    #[test]
    fn every_mistake_names_its_field() {
        check(json!({ "study": "a.yaml" }), &[]);
        let all = json!({ "study": "a.yaml", "filter": ["a=1"], "quick": false, "wait": 60 });
        check(all, &[]);
        check(json!({}), &["study: it is missing"]);
        let text = "study: expected a text of 1 to 4096 letters";
        check(json!({ "study": 1 }), &[text]);
        check(json!({ "study": "" }), &[text]);
        check(json!({ "study": "a".repeat(4097) }), &[text]);
        check(
            json!({ "study": "a", "filters": [], "quick": "yes", "wait": 61 }),
            &[
                "quick: expected true or false",
                "wait: expected a whole number of seconds, at most 60",
                "filters: there is no such field; did you mean filter?",
            ],
        );
        let list = "filter: expected a list of up to 64 texts, each of 1 to 4096 letters";
        check(json!({ "study": "a", "filter": "a=1" }), &[list]);
        check(json!({ "study": "a", "filter": [1] }), &[list]);
        check(json!({ "study": "a", "filter": vec!["a"; 65] }), &[list]);
        check(
            json!({ "study": "a", "wait": -1 }),
            &["wait: expected a whole number of seconds, at most 60"],
        );
    }
}
