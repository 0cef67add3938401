//! Values that obey their schemas: the examples of a document that do, or made ones, within a budget.

mod fits;
mod number;

use std::cell::Cell;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::document::Document;

/// Deepest nesting of a made value and of its schemas.
const DEPTH_MAX: usize = 16;
/// Most steps (schemas that are looked at, with their keywords) for the values of one operation.
const STEPS_MAX: usize = 50_000;
/// Most characters of a made text.
const TEXT_MAX: u64 = 10_000;
/// Most items of a made array.
const ITEMS_MAX: u64 = 1_000;
/// Values that are tried where one does not obey the schema.
const TRIES: usize = 8;

/// Makes the values of one operation.
pub(super) struct Values<'a> {
    pub(super) document: &'a Document,
    steps: Cell<usize>,
}

impl<'a> Values<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self {
            document,
            steps: Cell::new(0),
        }
    }

    fn spend(&self, steps: usize) -> Result<()> {
        self.steps.set(self.steps.get() + steps);
        if self.steps.get() > STEPS_MAX {
            bail!("its schemas take more than {STEPS_MAX} steps");
        }
        Ok(())
    }

    /// A value of a parameter or media type: the first example that obeys the schema, or a made one.
    pub(super) fn value_of(&self, described: &Value) -> Result<Value> {
        let schema = &described["schema"];
        let mut given: Vec<&Value> = described.get("example").into_iter().collect();
        for example in described["examples"]
            .as_object()
            .into_iter()
            .flat_map(Map::values)
        {
            given.extend(self.document.resolve(example)?.get("value"));
        }
        for example in given {
            let example = self.sent(schema, example, 0)?;
            // In a text all scalars are texts, so an example of another type is the same.
            if schema.is_null()
                || self.fits(schema, &example, 0)?
                || self.fits(schema, &as_text(&example), 0)?
            {
                return Ok(example);
            }
        }
        if schema.is_null() {
            bail!("no example and no schema");
        }
        self.made(schema, 0, 0)
    }

    /// The value number `variant` of a schema.
    fn made(&self, schema: &Value, depth: usize, variant: usize) -> Result<Value> {
        if depth > DEPTH_MAX {
            bail!("its schemas are nested deeper than {DEPTH_MAX}");
        }
        let flat = Value::Object(self.flat(schema, depth)?);
        let mut given: Vec<&Value> = ["example", "default", "const"]
            .iter()
            .filter_map(|key| flat.get(key))
            .collect();
        for key in ["examples", "enum"] {
            given.extend(flat[key].as_array().into_iter().flatten().skip(variant));
        }
        for example in given.into_iter().take(TRIES) {
            let example = self.sent(&flat, example, depth)?;
            if (variant == 0 || flat.get("enum").is_some()) && self.fits(&flat, &example, depth)? {
                return Ok(example);
            }
        }
        let choices = ["oneOf", "anyOf"]
            .iter()
            .find_map(|kind| flat[*kind].as_array().map(|options| (*kind, options)));
        let Some((kind, options)) = choices else {
            return self.made_of_type(&flat, depth, variant);
        };
        let mut why = None;
        for option in options.iter().take(TRIES) {
            let mut rest = flat.as_object().cloned().unwrap_or_default();
            rest.remove(kind);
            let tagged = discriminated(&flat, option);
            match self.made(
                &json!({"allOf": [rest, option, tagged]}),
                depth + 1,
                variant,
            ) {
                Ok(value) if self.fits(&flat, &value, depth)? => return Ok(value),
                Ok(_) => {}
                Err(reason) => why = Some(reason),
            }
        }
        Err(why.unwrap_or_else(|| anyhow::anyhow!("no value obeys its {kind}")))
    }

    fn made_of_type(&self, flat: &Value, depth: usize, variant: usize) -> Result<Value> {
        let mut tried = None;
        for more in 0..TRIES {
            let value = self.typed(flat, depth, variant + more)?;
            if self.fits(flat, &value, depth)? {
                return Ok(value);
            }
            tried = Some(value);
        }
        let shown: String = tried
            .unwrap_or_default()
            .to_string()
            .chars()
            .take(40)
            .collect();
        bail!("no value was found that obeys its schema (such as {shown})")
    }

    fn typed(&self, flat: &Value, depth: usize, variant: usize) -> Result<Value> {
        let kind = kind_of(flat).context("its schema does not say which value it has")?;
        match kind {
            "integer" | "number" => number::made(flat, kind == "integer", variant),
            "boolean" => Ok(Value::Bool(variant % 2 == 0)),
            "null" => Ok(Value::Null),
            "string" => text(flat, variant).map(Value::String),
            "array" => self.array(flat, depth, variant),
            "object" => self.object(flat, depth, variant),
            other => bail!("its schema has the unknown type {other:?}"),
        }
    }

    fn array(&self, flat: &Value, depth: usize, variant: usize) -> Result<Value> {
        let most = flat["maxItems"].as_u64().unwrap_or(ITEMS_MAX);
        let count = flat["minItems"].as_u64().unwrap_or(1.min(most));
        if count > ITEMS_MAX {
            bail!("its array has at least {count} items; at most {ITEMS_MAX} are made");
        }
        let is_unique = flat["uniqueItems"] == true;
        let mut items: Vec<Value> = Vec::new();
        let mut number = variant;
        while (items.len() as u64) < count {
            self.spend(1)?;
            let schema = flat["prefixItems"]
                .get(items.len())
                .unwrap_or(&flat["items"]);
            let item = match self.made(schema, depth + 1, if is_unique { number } else { variant })
            {
                Ok(item) => item,
                // An array that may be empty ends a recursion.
                Err(_) if items.is_empty() && flat.get("minItems").is_none() => break,
                Err(why) => return Err(why),
            };
            number += 1;
            if !is_unique || !items.contains(&item) {
                items.push(item);
            } else if number > variant + 2 * ITEMS_MAX as usize {
                bail!("its array has too few different items");
            }
        }
        Ok(Value::Array(items))
    }

    fn object(&self, flat: &Value, depth: usize, variant: usize) -> Result<Value> {
        let mut members = Map::new();
        for name in flat["required"].as_array().into_iter().flatten() {
            let name = name.as_str().context("a required name is no text")?;
            let extra = &flat["additionalProperties"];
            let schema = flat["properties"]
                .get(name)
                .unwrap_or(if extra.is_object() {
                    extra
                } else {
                    &Value::Null
                });
            if self.is_read_only(schema)? {
                continue;
            }
            let member = self
                .made(schema, depth + 1, variant)
                .with_context(|| format!("member {name:?}"))?;
            members.insert(name.to_owned(), member);
        }
        let least = flat["minProperties"].as_u64().unwrap_or(0);
        if least > ITEMS_MAX {
            bail!("its object has at least {least} members; at most {ITEMS_MAX} are made");
        }
        for (name, schema) in flat["properties"].as_object().into_iter().flatten() {
            if members.len() as u64 >= least {
                break;
            }
            if !members.contains_key(name)
                && !self.is_read_only(schema)?
                && let Ok(member) = self.made(schema, depth + 1, variant)
            {
                members.insert(name.clone(), member);
            }
        }
        let mut number = 0;
        while (members.len() as u64) < least && flat["additionalProperties"] != false {
            number += 1;
            let extra = &flat["additionalProperties"];
            let member = if extra.is_object() {
                self.made(extra, depth + 1, variant)?
            } else {
                json!("text")
            };
            members.insert(format!("property{number}"), member);
        }
        Ok(Value::Object(members))
    }

    fn is_read_only(&self, schema: &Value) -> Result<bool> {
        Ok(schema.is_object() && self.flat(schema, 0)?.get("readOnly") == Some(&Value::Bool(true)))
    }

    /// A given value without the members that are only in answers.
    fn sent(&self, schema: &Value, value: &Value, depth: usize) -> Result<Value> {
        if depth > DEPTH_MAX || !(value.is_object() || value.is_array()) || !schema.is_object() {
            return Ok(value.clone());
        }
        let flat = self.flat(schema, depth)?;
        let part = |key: &str| flat.get(key).unwrap_or(&Value::Null);
        Ok(match value {
            Value::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| self.sent(part("items"), item, depth + 1));
                Value::Array(items.collect::<Result<_>>()?)
            }
            Value::Object(members) => {
                let mut kept = Map::new();
                for (name, member) in members {
                    let schema = &part("properties")[name.as_str()];
                    if !self.is_read_only(schema)? {
                        kept.insert(name.clone(), self.sent(schema, member, depth + 1)?);
                    }
                }
                Value::Object(kept)
            }
            value => value.clone(),
        })
    }

    /// One schema without `$ref` and `allOf`.
    fn flat(&self, schema: &Value, depth: usize) -> Result<Map<String, Value>> {
        if depth > DEPTH_MAX {
            bail!("its schemas are nested deeper than {DEPTH_MAX}");
        }
        let Some(keywords) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                bail!("its schema allows no value");
            }
            return Ok(Map::new());
        };
        self.spend(
            1 + keywords.len()
                + keywords
                    .get("properties")
                    .and_then(Value::as_object)
                    .map_or(0, Map::len),
        )?;
        let is_31 = self.document.root()["openapi"]
            .as_str()
            .is_some_and(|version| version.starts_with("3.1"));
        let mut whole = Map::new();
        if keywords.contains_key("$ref") {
            whole = self.flat(self.document.resolve(schema)?, depth + 1)?;
            // Before 3.1 what stands beside a $ref is ignored.
            if !is_31 {
                return Ok(whole);
            }
        }
        for part in keywords
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            merge(&mut whole, self.flat(part, depth + 1)?);
        }
        let mut own = keywords.clone();
        own.remove("$ref");
        own.remove("allOf");
        number::make_bounds_numbers(&mut own);
        merge(&mut whole, own);
        Ok(whole)
    }
}

/// Adds the keywords of another schema that must hold, too.
fn merge(whole: &mut Map<String, Value>, other: Map<String, Value>) {
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

fn larger(one: Value, other: Value, sign: i8) -> Value {
    let (a, b) = (
        one.as_f64().unwrap_or_default(),
        other.as_f64().unwrap_or_default(),
    );
    if (a > b) == (sign > 0) { one } else { other }
}

/// The name by which the discriminator of a choice selects this option.
fn discriminated(choice: &Value, option: &Value) -> Value {
    let (Some(property), Some(reference)) = (
        choice["discriminator"]["propertyName"].as_str(),
        option["$ref"].as_str(),
    ) else {
        return json!({});
    };
    let last = reference.rsplit('/').next().unwrap_or_default();
    let mapping = choice["discriminator"]["mapping"].as_object();
    let mapped = mapping.and_then(|names| {
        names.iter().find(|(_, target)| {
            target.as_str().is_some_and(|target| {
                target == reference
                    || target.trim_start_matches('#') == reference.trim_start_matches('#')
                    || target == last
            })
        })
    });
    let name = mapped.map_or(last, |(name, _)| name);
    json!({"properties": {property: {"const": name}}})
}

/// The type, by its name or by the keywords that go with one.
fn kind_of(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::String(kind) => return Some(kind),
        Value::Array(kinds) => {
            let mut names = kinds.iter().filter_map(Value::as_str);
            return names
                .clone()
                .find(|kind| *kind != "null")
                .or_else(|| names.next());
        }
        _ => {}
    }
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    match () {
        () if has(&[
            "properties",
            "required",
            "additionalProperties",
            "minProperties",
        ]) =>
        {
            Some("object")
        }
        () if has(&["items", "prefixItems", "minItems"]) => Some("array"),
        () if has(&["minLength", "maxLength", "format"]) => Some("string"),
        () if has(&[
            "minimum",
            "maximum",
            "multipleOf",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ]) =>
        {
            Some("number")
        }
        () => None,
    }
}

fn text(schema: &Value, variant: usize) -> Result<String> {
    if let Some(pattern) = schema["pattern"].as_str() {
        bail!("no text is made for the pattern {pattern:?}");
    }
    let day = variant % 28 + 1;
    let text = match schema["format"].as_str() {
        Some("date-time") => format!("2026-01-{day:02}T00:00:00Z"),
        Some("date") => format!("2026-01-{day:02}"),
        Some("time") => format!("00:00:{:02}Z", variant % 60),
        Some("duration") => format!("PT{}S", variant + 1),
        Some("uuid") => format!("00000000-0000-4000-8000-{:012x}", variant + 1),
        Some("email" | "idn-email") => format!("someone{}@example.org", numbered(variant)),
        Some("uri" | "url" | "iri" | "uri-reference") => {
            format!("http://example.org/{}", numbered(variant))
        }
        Some("hostname" | "idn-hostname") => format!("host{}.example.org", numbered(variant)),
        Some("ipv4") => format!("192.0.2.{}", variant % 254 + 1),
        Some("ipv6") => format!("2001:db8::{:x}", variant % 65_535 + 1),
        Some("byte") => "dGV4dA==".to_owned(),
        Some("binary") => bail!("no binary text is made"),
        _ => return plain_text(schema, variant),
    };
    Ok(text)
}

fn numbered(variant: usize) -> String {
    if variant == 0 {
        String::new()
    } else {
        variant.to_string()
    }
}

fn plain_text(schema: &Value, variant: usize) -> Result<String> {
    let least = schema["minLength"].as_u64().unwrap_or(0);
    if least > TEXT_MAX {
        bail!("its text has at least {least} characters; at most {TEXT_MAX} are made");
    }
    let most =
        usize::try_from(schema["maxLength"].as_u64().unwrap_or(TEXT_MAX)).unwrap_or(usize::MAX);
    let (mut text, mut rest) = (String::new(), variant);
    while rest > 0 {
        rest -= 1;
        text.push(char::from(
            b'a' + u8::try_from(rest % 26).expect("below 26"),
        ));
        rest /= 26;
    }
    if variant == 0 {
        text.push_str("text");
    }
    let missing = usize::try_from(least)
        .unwrap_or_default()
        .saturating_sub(text.len());
    text.push_str(&"x".repeat(missing));
    Ok(text.chars().take(most).collect())
}

/// The value with its scalars as texts.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(as_text).collect(),
        Value::Number(number) => Value::String(number.to_string()),
        Value::Bool(truth) => Value::String(truth.to_string()),
        value => value.clone(),
    }
}
