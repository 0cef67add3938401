//! The published schemas are those of the code, and accept the same as the code.

use std::path::PathBuf;

use serde_json::Value;
use waggle_study::{scenario_schema, study_schema, system_schema};

use super::{check_golden, read, root};

fn published_schema(name: &str) -> PathBuf {
    root()
        .join("docs/schema")
        .join(format!("{name}.schema.json"))
}

fn check(name: &str, schema: &Value) {
    let path = published_schema(name);
    // Compared as values: the order of keys follows a feature that other crates may switch on.
    let same = path.exists()
        && serde_json::from_str::<Value>(&read(&path)).is_ok_and(|on_disk| on_disk == *schema);
    if !same {
        check_golden(
            &path,
            &(serde_json::to_string_pretty(schema).expect("a schema is JSON") + "\n"),
        );
    }
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}

#[test]
fn the_published_schemas_are_those_of_the_code() {
    check("study", &study_schema());
    check("system", &system_schema());
    check("scenario", &scenario_schema());
}

/// The keywords that the validation understands, and those that only explain.
const KEYWORDS: [&str; 20] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "enum",
    "oneOf",
    "const",
    "anyOf",
    "minimum",
    "maximum",
    "pattern",
    "x-waggle",
];

fn check_keywords(schema: &Value) {
    let Some(object) = schema.as_object() else {
        return;
    };
    for (keyword, value) in object {
        let known = KEYWORDS.contains(&keyword.as_str()) || keyword == "x-waggle-keys";
        assert!(
            known,
            "the validation does not understand {keyword:?} in {schema}"
        );
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(properties)) => {
                properties.values().for_each(check_keywords)
            }
            ("oneOf" | "anyOf", Value::Array(branches)) => branches.iter().for_each(check_keywords),
            ("items" | "additionalProperties", nested) => check_keywords(nested),
            _ => {}
        }
    }
}

#[test]
fn the_schemas_use_only_keywords_that_the_validation_understands() {
    check_keywords(&study_schema());
    check_keywords(&system_schema());
    check_keywords(&scenario_schema());
}

fn check_described(schema: &Value, path: &str) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        assert!(
            property["description"].is_string(),
            "{path} has no description"
        );
        check_described(property, &path);
        check_described(&property["items"], &path);
    }
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        check_described(definition, name);
    }
}

#[test]
fn every_key_is_described() {
    check_described(&study_schema(), "study");
    check_described(&system_schema(), "system");
    check_described(&scenario_schema(), "scenario");
}
