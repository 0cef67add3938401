//! Two schemas that must both hold → one.

use serde_json::{Map, Value, json};

use super::number::Decimal;

/// How often values are compared when lists of both are merged.
pub(super) fn steps(whole: &Map<String, Value>, other: &Map<String, Value>) -> usize {
    let count = |keywords: &Map<String, Value>| {
        let values = keywords.get("enum").and_then(Value::as_array);
        values.map_or(0, Vec::len)
    };
    count(whole).saturating_mul(count(other))
}

/// Adds the keywords of another schema that must hold, too.
pub(super) fn merge(whole: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, new) in other {
        let Some(old) = whole.remove(&key) else {
            whole.insert(key, new);
            continue;
        };
        let both = match (&*key, old, new) {
            ("properties", Value::Object(mut old), Value::Object(new)) => {
                for (name, schema) in new {
                    let schema = match old.remove(&name) {
                        Some(known) if known != schema => json!({"allOf": [known, schema]}),
                        _ => schema,
                    };
                    old.insert(name, schema);
                }
                Value::Object(old)
            }
            ("example" | "default", Value::Object(mut old), Value::Object(new)) => {
                old.extend(new);
                Value::Object(old)
            }
            ("required", Value::Array(mut old), Value::Array(new)) => {
                old.extend(new);
                Value::Array(old)
            }
            ("enum", Value::Array(old), Value::Array(new)) => old
                .into_iter()
                .filter(|value| new.contains(value))
                .collect(),
            ("items" | "additionalProperties", old, new)
                if old.is_object() && new.is_object() && old != new =>
            {
                json!({"allOf": [old, new]})
            }
            ("not", old, new) => json!({"anyOf": [old, new]}),
            ("nullable", old, new) => Value::Bool(old == true && new == true),
            ("readOnly" | "writeOnly" | "uniqueItems", old, new) => {
                Value::Bool(old == true || new == true)
            }
            ("oneOf" | "anyOf", old, new) if old != new => {
                // The second list is checked of what the first one makes.
                let rest = json!({"not": {"not": {key.clone(): new}}});
                let not = whole.remove("not");
                let both = [not, Some(rest["not"].clone())];
                whole.insert(
                    "not".to_owned(),
                    json!({"anyOf": both.into_iter().flatten().collect::<Vec<_>>()}),
                );
                old
            }
            (key, old, new) if key.starts_with("min") || key == "exclusiveMinimum" => {
                larger(old, new, 1)
            }
            (key, old, new) if key.starts_with("max") || key == "exclusiveMaximum" => {
                larger(old, new, -1)
            }
            ("type", old, new) => {
                if old == "number" || (old.is_array() && new.is_string()) {
                    new
                } else {
                    old
                }
            }
            (_, _, new) => new,
        };
        whole.insert(key, both);
    }
}

fn larger(value: Value, other: Value, sign: i8) -> Value {
    let numbers = Decimal::new(&value).zip(Decimal::new(&other));
    let ordering = numbers.and_then(|(value, other)| value.compare(other));
    let is_larger = match ordering {
        Some(ordering) => ordering.is_gt(),
        None => value.as_f64() > other.as_f64(),
    };
    if is_larger == (sign > 0) {
        value
    } else {
        other
    }
}
