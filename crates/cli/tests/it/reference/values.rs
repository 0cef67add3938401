//! What a value of a JSON Schema may be, in words.

use serde_json::Value;

/// Deepest nesting of lists, maps and alternatives within one key.
const DEPTH_MAX: usize = 8;

/// The objects with keys that a value may be or hold, each with what is appended to its path: `[]` in a list, `.NAME` in a map.
pub(super) fn objects<'a>(schema: &'a Value, value: &'a Value) -> Vec<(String, &'a Value)> {
    let mut objects = Vec::new();
    collect(schema, value, "", DEPTH_MAX, &mut objects);
    objects
}

fn collect<'a>(
    schema: &'a Value,
    value: &'a Value,
    suffix: &str,
    depth: usize,
    objects: &mut Vec<(String, &'a Value)>,
) {
    assert!(depth > 0, "nested too deeply: {value}");
    let value = resolve(schema, value);
    if value["properties"].is_object() {
        objects.push((suffix.to_owned(), value));
        return;
    }
    for branch in alternatives(value) {
        collect(schema, branch, suffix, depth - 1, objects);
    }
    for (key, appended) in [("items", "[]"), ("additionalProperties", ".NAME")] {
        if value[key].is_object() {
            let suffix = format!("{suffix}{appended}");
            collect(schema, &value[key], &suffix, depth - 1, objects);
        }
    }
}

/// The description of a value, and those of the words that it may be.
pub(super) fn meaning(schema: &Value, value: &Value) -> String {
    let resolved = resolve(schema, value);
    let summary = value["description"].as_str();
    let mut meaning = summary
        .or(resolved["description"].as_str())
        .unwrap_or_default()
        .to_owned();
    for (word, description) in words(schema, resolved, DEPTH_MAX) {
        if let Some(description) = description {
            meaning += &format!(" `{word}`: {description}");
        }
    }
    meaning
}

/// What a value may be.
pub(super) fn kind(schema: &Value, value: &Value) -> String {
    let mut kinds = kinds(schema, value, DEPTH_MAX);
    // What a factor gives comes last.
    kinds.sort_by_key(|kind| kind == FACTOR);
    kinds.join(", ")
}

/// Each once.
fn kinds(schema: &Value, value: &Value, depth: usize) -> Vec<String> {
    let mut all = Vec::new();
    collect_kinds(schema, value, depth, &mut all);
    let mut kinds: Vec<String> = Vec::new();
    for kind in all {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

const FACTOR: &str = "`${…}`";

fn collect_kinds(schema: &Value, value: &Value, depth: usize, kinds: &mut Vec<String>) {
    assert!(depth > 0, "nested too deeply: {value}");
    let value = resolve(schema, value);
    if value["description"] == "${factor}" {
        kinds.push(FACTOR.to_owned());
        return;
    }
    if let Some(word) = value["const"].as_str() {
        kinds.push(format!("`{word}`"));
        return;
    }
    if let Some(words) = value["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str);
        kinds.extend(words.map(|word| format!("`{word}`")));
        return;
    }
    if let Some(name) = value["x-waggle"].as_str() {
        kinds.push(name.to_owned());
        return;
    }
    let branches: Vec<&Value> = alternatives(value).collect();
    if !branches.is_empty() {
        for branch in branches {
            collect_kinds(schema, branch, depth - 1, kinds);
        }
        return;
    }
    let types = match &value["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind.as_str()],
        _ => vec![],
    };
    // Of several plain types one is enough to be said: a number may be whole.
    let is_scalar = types.contains(&"boolean") && types.contains(&"string");
    if is_scalar {
        kinds.push("number, text, true or false".to_owned());
        return;
    }
    kinds.extend(
        types
            .iter()
            .map(|kind| type_text(schema, value, kind, depth)),
    );
}

fn type_text(schema: &Value, value: &Value, name: &str, depth: usize) -> String {
    let nested = |value: &Value| kinds(schema, value, depth - 1).join(" or ");
    match name {
        "string" => "text".to_owned(),
        "integer" => format!("whole number{}", range(value)),
        "number" => format!("number{}", range(value)),
        "boolean" => "`true`, `false`".to_owned(),
        "array" if value["items"].is_object() => format!("list of {}", nested(&value["items"])),
        "array" => "list".to_owned(),
        "object" if value["properties"].is_object() => "keys".to_owned(),
        "object" if value["additionalProperties"].is_object() => {
            format!(
                "names, each with {}",
                nested(&value["additionalProperties"])
            )
        }
        "object" => "names with values".to_owned(),
        other => format!("`{other}`"),
    }
}

/// The bounds of a number; lower bounds of 0 are left out, and so are bounds that only the format has.
fn range(value: &Value) -> String {
    let low = value["minimum"].as_f64().filter(|low| *low != 0.0);
    match (low, value["maximum"].as_f64()) {
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
        (Some(low), None) => format!(" from {low}"),
        (None, Some(high)) => format!(" up to {high}"),
        (None, None) => String::new(),
    }
}

fn words<'a>(schema: &'a Value, value: &'a Value, depth: usize) -> Vec<(&'a str, Option<&'a str>)> {
    assert!(depth > 0, "nested too deeply: {value}");
    let value = resolve(schema, value);
    if let Some(word) = value["const"].as_str() {
        return vec![(word, value["description"].as_str())];
    }
    alternatives(value)
        .flat_map(|branch| words(schema, branch, depth - 1))
        .collect()
}

fn alternatives(value: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].map(|key| value[key].as_array());
    lists.into_iter().flatten().flatten()
}

fn resolve<'a>(schema: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => schema
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{reference} leads nowhere")),
        None => value,
    }
}

/// JSON with sorted keys: their order follows a feature that other crates may switch on.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries
                .into_iter()
                .map(|(key, value)| format!("{key:?}:{}", canonical(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(canonical).collect();
            format!("[{}]", values.join(","))
        }
        plain => plain.to_string(),
    }
}
