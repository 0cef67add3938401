//! Values obey their schemas, and every limit is kept.

use serde_json::{Value, json};

use super::{
    super::document::Document, DEPTH_MAX, DOCUMENT_STEPS_MAX, ITEMS_MAX, Values, text::TEXT_MAX,
};

/// The value that is made of a schema in a document of this version, or why none is.
fn value_or_reason(version: &str, schema: Value) -> String {
    let document = Document::new(json!({"openapi": version}), None);
    let value = Values::new(&document).value_of(&json!({ "schema": schema }));
    value.map_or_else(|why| format!("refused: {why:#}"), |value| value.to_string())
}

#[track_caller]
fn check(schema: Value, expected: &str) {
    let shown = schema.to_string();
    assert_eq!(value_or_reason("3.1.0", schema), expected, "{shown}");
}

#[track_caller]
fn check_3_0(schema: Value, expected: &str) {
    let shown = schema.to_string();
    assert_eq!(value_or_reason("3.0.3", schema), expected, "{shown}");
}

#[test]
fn numbers_obey_bounds_and_multiples() {
    check(json!({"type": "integer"}), "1");
    check(json!({"type": "integer", "minimum": 5}), "5");
    check(json!({"type": "integer", "minimum": 4.5}), "5");
    check(json!({"type": "integer", "maximum": -3}), "-3");
    check(json!({"type": "integer", "exclusiveMinimum": 10}), "11");
    check(json!({"type": "integer", "exclusiveMaximum": 0}), "-1");
    check(
        json!({"type": "integer", "multipleOf": 7, "minimum": 8}),
        "14",
    );
    check(json!({"type": "integer", "multipleOf": 1.5}), "3");
    check(
        json!({"type": "number", "multipleOf": 0.1, "minimum": 0.25}),
        "0.3",
    );
    check(
        json!({"type": "number", "minimum": 0.1, "maximum": 0.2}),
        "0.1",
    );
    check(
        json!({"type": "integer", "minimum": 2_147_483_648_u64, "format": "int32"}),
        "refused: no number is within its bounds",
    );
    check(
        json!({"type": "integer", "minimum": 18_446_744_073_709_551_615_u64}),
        "18446744073709551615",
    );
    check(
        json!({"type": "integer", "minimum": 3, "maximum": 2}),
        "refused: no number is within its bounds",
    );
    check_3_0(
        json!({"type": "integer", "minimum": 10, "exclusiveMinimum": true}),
        "11",
    );
    check_3_0(
        json!({"type": "integer", "maximum": -2, "exclusiveMaximum": true}),
        "-3",
    );
    check_3_0(
        json!({"type": "integer", "minimum": 10, "exclusiveMinimum": false}),
        "10",
    );
}

/// A schema as a document has it, in JSON and in YAML, and the value as the study has it.
#[test]
fn integers_beyond_64_bits_are_exact() {
    let check = |schema: &str, expected: &str| {
        let json = format!("{{\"openapi\": \"3.1.0\", \"s\": {schema}}}");
        let yaml = format!("openapi: 3.1.0\ns: {schema}\n");
        for text in [json, yaml] {
            let root = super::super::syntax::parse(&text).unwrap();
            let schema = root["s"].clone();
            let value = value_or_reason("3.1.0", schema);
            let value = super::super::super::slot::study_text(&value);
            assert_eq!(value, expected, "{text}");
        }
    };
    check(
        r#"{"type": "integer", "example": 12345678901234567890123}"#,
        "12345678901234567890123",
    );
    check(
        r#"{"enum": [-98765432109876543210]}"#,
        "-98765432109876543210",
    );
    check(
        r#"{"type": "integer", "minimum": 18446744073709551616}"#,
        "18446744073709551616",
    );
    check(
        r#"{"type": "integer", "exclusiveMinimum": 18446744073709551615}"#,
        "18446744073709551616",
    );
    check(
        r#"{"type": "integer", "maximum": -9223372036854775809}"#,
        "-9223372036854775809",
    );
    check(
        r#"{"type": "integer", "minimum": 36893488147419103233, "multipleOf": 18446744073709551616}"#,
        "55340232221128654848",
    );
    check(
        r#"{"type": "integer", "minimum": 18446744073709551617, "maximum": 18446744073709551616}"#,
        "refused: no number is within its bounds",
    );
    check(
        r#"{"type": "integer", "example": 18446744073709551617, "maximum": 18446744073709551616, "minimum": 18446744073709551616}"#,
        "18446744073709551616",
    );
    check(
        r#"{"type": "integer", "minimum": 100000000000000000000000000000000000000000000}"#,
        "refused: its minimum 100000000000000000000000000000000000000000000 is not used",
    );
    check(
        r#"{"type": "integer", "default": 100000000000000000000000000000000000000000000}"#,
        "100000000000000000000000000000000000000000000",
    );
    check(
        r#"{"type": "string", "example": 18446744073709551616, "maxLength": 4}"#,
        "\"text\"",
    );
    check(
        r#"{"type": "number", "minimum": 0.12345678901234567}"#,
        "refused: its minimum 0.12345678901234567 is not used",
    );
}

#[test]
fn texts_obey_lengths_formats_and_types() {
    check(json!({"type": "string"}), "\"text\"");
    check(json!({"type": "string", "maxLength": 2}), "\"te\"");
    check(json!({"type": "string", "maxLength": 0}), "\"\"");
    check(json!({"type": "string", "minLength": 6}), "\"textxx\"");
    check(
        json!({"type": "string", "format": "date"}),
        "\"2026-01-01\"",
    );
    check(json!({"type": "string", "pattern": "^x"}), "\"x\"");
    check(
        json!({"type": "string", "pattern": "^x", "example": "yx", "minLength": 3}),
        "\"xxx\"",
    );
    check(
        json!({"type": "string", "pattern": "^(?=x)"}),
        "refused: no text is made for the pattern \"^(?=x)\": it cannot be read",
    );
    check(
        json!({"type": "array", "minItems": 3, "uniqueItems": true, "items": {"pattern": "^[A-C]\\d$"}}),
        "[\"A1\",\"B1\",\"C1\"]",
    );
    check(
        json!({"type": "string", "pattern": "^x", "example": "xy"}),
        "\"xy\"",
    );
    check(json!({"type": ["null", "boolean"]}), "true");
    check(json!({"type": "string", "enum": ["a", 1]}), "\"a\"");
    check(json!({"type": "integer", "enum": ["a", 1]}), "1");
    check(json!({"const": [1]}), "[1]");
    check(json!({"type": "integer", "default": 3, "minimum": 4}), "4");
    check(json!(false), "refused: its schema allows no value");
}

#[test]
fn arrays_obey_counts() {
    let integers = json!({"type": "integer"});
    check(json!({"type": "array", "items": integers}), "[1]");
    check(
        json!({"type": "array", "items": integers, "maxItems": 0}),
        "[]",
    );
    check(
        json!({"type": "array", "items": integers, "minItems": 3}),
        "[1,1,1]",
    );
    check(
        json!({"type": "array", "items": integers, "minItems": 3, "uniqueItems": true}),
        "[1,2,3]",
    );
    check(
        json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true}),
        "[\"a\",\"b\"]",
    );
}

#[test]
fn objects_have_what_is_sent() {
    let properties = json!({"id": {"type": "integer", "readOnly": true}, "key": {"type": "string", "writeOnly": true}, "n": {"type": "integer"}});
    let object = |more: Value| {
        let mut schema = json!({"type": "object", "properties": properties});
        for (key, value) in more.as_object().unwrap() {
            schema[key] = value.clone();
        }
        schema
    };
    check(
        object(json!({"required": ["id", "key"]})),
        "{\"key\":\"text\"}",
    );
    check(
        object(json!({"required": ["n"], "example": {"id": 4, "n": 5}})),
        "{\"n\":5}",
    );
    check(
        object(json!({"minProperties": 3})),
        "{\"key\":\"text\",\"n\":1,\"property1\":\"text\"}",
    );
    check(
        json!({"allOf": [object(json!({"required": ["n"]})), {"properties": {"n": {"minimum": 7}}}]}),
        "{\"n\":7}",
    );
    check(
        json!({"oneOf": [{"type": "integer", "minimum": 4, "maximum": 3}, {"type": "boolean"}]}),
        "true",
    );
    check_3_0(
        json!({"type": "string", "nullable": true, "enum": [null, "a"]}),
        "null",
    );
}

#[test]
fn limits_are_kept() {
    let reason = |schema: Value| value_or_reason("3.1.0", schema);
    assert_eq!(
        reason(json!({"type": "string", "minLength": TEXT_MAX + 1})),
        "refused: its text has at least 10001 characters; at most 10000 are made"
    );
    assert_eq!(
        reason(json!({"type": "array", "items": {}, "minItems": ITEMS_MAX + 1})),
        "refused: its array has at least 1001 items; at most 1000 are made"
    );
    assert_eq!(
        reason(json!({"type": "object", "minProperties": ITEMS_MAX + 1})),
        "refused: its object has at least 1001 members; at most 1000 are made"
    );
    let mut deep = json!({"type": "integer"});
    for _ in 0..=DEPTH_MAX {
        deep = json!({"type": "array", "minItems": 1, "items": deep});
    }
    assert_eq!(
        reason(deep),
        "refused: its schemas are nested deeper than 16"
    );
}

/// Eight required members on each of 16 levels are 8^16 values.
fn wide() -> Value {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut schemas = json!({"S16": {"type": "string"}});
    for level in 0..16 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", level + 1)});
        let members: serde_json::Map<_, _> = names
            .map(|name| (name.to_owned(), next.clone()))
            .into_iter()
            .collect();
        schemas[format!("S{level}")] =
            json!({"type": "object", "required": names, "properties": members});
    }
    json!({"openapi": "3.0.0", "components": {"schemas": schemas}})
}

#[test]
fn steps_of_an_operation_and_of_a_document_are_limited() {
    let document = Document::new(wide(), None);
    let values = Values::new(&document);
    let reason = |number: usize| {
        let reference = format!("#/components/schemas/S{number}");
        let value = values.value_of(&json!({"schema": {"$ref": reference}}));
        format!("{:#}", value.unwrap_err())
    };
    let said = reason(9);
    assert!(
        said.ends_with("its schemas take more than 500000 steps"),
        "{said}"
    );
    assert!(said.matches("member").count() <= 4, "{said}");
    values.begin_operation();
    values.document_steps.set(DOCUMENT_STEPS_MAX);
    let said = reason(16);
    assert!(
        said.ends_with("the document's schemas take more than 10000000 steps"),
        "{said}"
    );
}

/// What is copied, made and compared counts, and not only how many schemas there are.
#[test]
fn small_schemas_of_large_values_are_limited() {
    let text = json!({"type": "string", "minLength": TEXT_MAX});
    let list = |items: Value| json!({"type": "array", "minItems": ITEMS_MAX, "items": items});
    let pattern = |pattern: &str| list(json!({"type": "string", "pattern": pattern}));
    let example = json!({"type": "array", "example": vec!["y"; 2_000]});
    let names: Vec<String> = (0..2_000).map(|number| format!("value-{number}")).collect();
    for schema in [
        list(list(text.clone())),
        list(json!({"type": "array", "minItems": 10, "items": text})),
        pattern("^(a{1,100}){1,90}$"),
        pattern("^[\\w]{1,90}[\\w]{1,90}[\\w]{1,90}[\\w]{1,90}$"),
        list(example),
        list(json!({"allOf": [{"enum": names}, {"enum": names}]})),
        list(json!({"type": "object", "minProperties": ITEMS_MAX})),
    ] {
        let said = value_or_reason("3.1.0", schema.clone());
        assert!(
            said.ends_with("its schemas take more than 500000 steps"),
            "{schema}: {}",
            said.chars().take(200).collect::<String>()
        );
    }
}

/// A schema that cannot end.
#[test]
fn recursive_schemas_end() {
    let node =
        json!({"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/node"}}});
    let document = Document::new(json!({"openapi": "3.1.0", "node": node}), None);
    let value = Values::new(&document).value_of(&json!({"schema": {"$ref": "#/node"}}));
    let said = format!("{:#}", value.unwrap_err());
    assert!(said.ends_with("nested deeper than 16"), "{said}");
    assert_eq!(said.matches("member").count(), 4, "{said}");
}
