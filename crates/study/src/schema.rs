//! JSON Schema from the raw types: the strict one that checks a file's shape, and the published one, which also admits
//! `${factor}` in place of a scalar.

use std::sync::LazyLock;

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

use crate::{parts::scenario::Scenario, raw};

/// The parts of a study whose scalars may be `${factor}`.
pub(crate) const PARTS_PER_CELL: [&str; 7] = [
    "prepare",
    "network",
    "load",
    "background",
    "schedule",
    "faults",
    "delivery",
];
/// The parts of `system` whose scalars may be `${factor}`, too.
pub(crate) const SYSTEM_PER_CELL: [&str; 2] = ["set", "limits"];
/// Keys in those parts that hold for the whole study.
pub(crate) const STUDY_WIDE: [[&str; 2]; 5] = [
    ["prepare", "grow"],
    ["load", "cpuset"],
    ["schedule", "repeat"],
    ["schedule", "order"],
    ["schedule", "restart"],
];

/// JSON Schema (2020-12) of a study file, for editors.
#[must_use]
pub fn study_schema() -> Value {
    let mut schema = STUDY.clone();
    admit_in_definitions(&mut schema);
    for part in PARTS_PER_CELL {
        let keep: Vec<_> = STUDY_WIDE
            .iter()
            .filter(|[parent, _]| *parent == part)
            .map(|[_, key]| *key)
            .collect();
        admit_factors(&mut schema["properties"][part], &keep);
    }
    schema
}

/// JSON Schema (2020-12) of a scenario in a file of its own, for editors.
#[must_use]
pub fn scenario_schema() -> Value {
    let mut schema = SCENARIO.clone();
    for key in OF_STUDY {
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.remove(key);
        }
    }
    schema["required"] = json!(["name", "flows"]);
    admit_in_definitions(&mut schema);
    admit_factors(&mut schema, &[]);
    schema
}

/// Keys of a scenario that have a meaning in a study only.
pub(crate) const OF_STUDY: [&str; 2] = ["file", "endpoint"];

/// JSON Schema (2020-12) of a system file, for editors.
#[must_use]
pub fn system_schema() -> Value {
    SYSTEM.clone()
}

/// A study's shape after every `${factor}` was replaced.
pub(crate) static STUDY: LazyLock<Value> = LazyLock::new(schema_of::<raw::Study>);
/// A scenario's shape after every `${factor}` was replaced.
pub(crate) static SCENARIO: LazyLock<Value> = LazyLock::new(schema_of::<Scenario>);
/// A system's shape.
pub(crate) static SYSTEM: LazyLock<Value> = LazyLock::new(schema_of::<raw::System>);

fn schema_of<T: JsonSchema>() -> Value {
    let model = SchemaSettings::draft2020_12().with(|model| model.inline_subschemas = true);
    model
        .with_transform(WithoutNull)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// An `Option` in a raw type means that the key may be left out, not that it may be empty.
#[derive(Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(object) = schema.as_object_mut() {
            object.remove("format");
            drop_null_type(object);
            drop_null_branch(object);
        }
        transform_subschemas(self, schema);
    }
}

fn drop_null_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get_mut("type") else {
        return;
    };
    types.retain(|name| name != "null");
    if let [only] = &types[..] {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
}

fn drop_null_branch(schema: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else {
        return;
    };
    branches.retain(|branch| *branch != json!({ "type": "null" }));
    if let [Value::Object(only)] = &branches[..] {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// The same for the definitions, which may refer to themselves.
fn admit_in_definitions(schema: &mut Value) {
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (_, definition) in definitions.into_iter().flatten() {
        admit_factors(definition, &[]);
    }
}

/// Lets every scalar below `schema` also be a text with `${…}` in it, but for the keys in `keep`.
fn admit_factors(schema: &mut Value, keep: &[&str]) {
    if schema.get("$ref").is_some() {
        // Definitions are changed separately.
    } else if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (_, property) in properties
            .iter_mut()
            .filter(|(key, _)| !keep.contains(&key.as_str()))
        {
            admit_factors(property, &[]);
        }
    } else if let Some(items) = schema.get_mut("items") {
        admit_factors(items, &[]);
    } else if let Some(values) = schema
        .get_mut("additionalProperties")
        .filter(|values| values.is_object())
    {
        admit_factors(values, &[]);
    } else if let Some(branches) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        branches
            .iter_mut()
            .filter(|branch| branch["type"] != "integer")
            .for_each(|branch| admit_factors(branch, &[]));
        branches.push(factor_text());
    } else if *schema != json!({ "type": "string", "description": schema["description"] }) {
        let description = schema
            .as_object_mut()
            .and_then(|object| object.remove("description"));
        *schema = json!({ "anyOf": [schema, factor_text()] });
        if let Some(description) = description {
            schema["description"] = description;
        }
    }
}

fn factor_text() -> Value {
    json!({ "type": "string", "pattern": r"\$\{[^}]+\}", "description": "${factor}" })
}
