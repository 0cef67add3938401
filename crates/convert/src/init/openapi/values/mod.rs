//! Values that obey their schemas: the examples of a document that do, or made ones, within a budget.

mod fits;
mod merge;
mod number;
mod pattern;
#[cfg(test)]
mod tests;
mod text;

use std::{cell::Cell, collections::HashSet};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::{super::slot, document::Document};
use merge::merge;

/// Deepest nesting of a made value and of its schemas.
const DEPTH_MAX: usize = 16;
/// Most steps for the values of one operation: a value of a schema that is looked at, a value that is made or compared, a part of a
/// pattern, 32 bytes of a text.
const OPERATION_STEPS_MAX: usize = 500_000;
/// Most steps for the values of all operations of a document.
const DOCUMENT_STEPS_MAX: usize = 10_000_000;
/// Bytes of a text that are one step.
const BYTES_OF_STEP: usize = 32;
/// Steps for a schema, besides its values.
const FLAT_STEPS: usize = 10;
/// Most items of a made array.
const ITEMS_MAX: u64 = 1_000;
/// Members that an error names, from outside in.
const SHOWN_DEPTH: usize = 4;
/// Values that are tried where one does not obey the schema.
const TRIES: usize = 8;

/// Makes the values of operations.
pub(super) struct Values<'a> {
    pub(super) document: &'a Document,
    /// Those of the operation.
    steps: Cell<usize>,
    /// Those of all operations.
    document_steps: Cell<usize>,
}

impl<'a> Values<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self {
            document,
            steps: Cell::new(0),
            document_steps: Cell::new(0),
        }
    }

    pub(super) fn begin_operation(&self) {
        self.steps.set(0);
    }

    /// Before the steps are taken.
    fn spend(&self, steps: usize) -> Result<()> {
        for (spent, what, most) in [
            (&self.steps, "its schemas take", OPERATION_STEPS_MAX),
            (
                &self.document_steps,
                "the document's schemas take",
                DOCUMENT_STEPS_MAX,
            ),
        ] {
            spent.set(spent.get().saturating_add(steps));
            if spent.get() > most {
                bail!("{what} more than {most} steps");
            }
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
            self.spend(weight(example))?;
            let example = self.without_read_only(schema, example, 0)?;
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
        self.make(schema, 0, 0)
    }

    /// The schema of a member of an object.
    pub(super) fn member(&self, schema: &Value, name: &str) -> Result<Map<String, Value>> {
        let flat = self.flat(schema, 0)?;
        let member = flat.get("properties").and_then(|members| members.get(name));
        self.flat(member.unwrap_or(&Value::Null), 1)
    }

    /// The value number `variant` of a schema.
    fn make(&self, schema: &Value, depth: usize, variant: usize) -> Result<Value> {
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
            self.spend(weight(example))?;
            let example = self.without_read_only(&flat, example, depth)?;
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
            self.spend(weight(&flat))?;
            let mut rest = flat.as_object().cloned().unwrap_or_default();
            rest.remove(kind);
            let tagged = discriminator_schema(&flat, option);
            match self.make(
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
        let (mut tried, mut why) = (None, None);
        for kind in kinds_of(flat).context("its schema does not say which value it has")? {
            for more in 0..TRIES {
                match self.make_of_kind(kind, flat, depth, variant + more) {
                    Ok(value) if self.fits(flat, &value, depth)? => return Ok(value),
                    Ok(value) => tried = Some(value),
                    Err(reason) => {
                        why = Some(reason);
                        break;
                    }
                }
            }
        }
        if let Some(why) = why {
            return Err(why);
        }
        let shown: String = slot::study_text(&tried.unwrap_or_default().to_string())
            .chars()
            .take(40)
            .collect();
        bail!("no value was found that obeys its schema (such as {shown})")
    }

    fn make_of_kind(
        &self,
        kind: &str,
        flat: &Value,
        depth: usize,
        variant: usize,
    ) -> Result<Value> {
        match kind {
            "integer" | "number" => number::make(flat, kind == "integer", variant),
            "boolean" => Ok(Value::Bool(variant.is_multiple_of(2))),
            "null" => Ok(Value::Null),
            "string" => {
                let spend = |steps| self.spend(steps);
                text::make(flat, variant, &spend).map(Value::String)
            }
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
        let mut known = HashSet::new();
        let mut number = variant;
        while (items.len() as u64) < count {
            self.spend(1)?;
            let schema = flat["prefixItems"]
                .get(items.len())
                .unwrap_or(&flat["items"]);
            let item = match self.make(schema, depth + 1, if is_unique { number } else { variant })
            {
                Ok(item) => item,
                // An array that may be empty ends a recursion.
                Err(_) if items.is_empty() && flat.get("minItems").is_none() => break,
                Err(why) => return Err(why),
            };
            number += 1;
            self.spend(weight(&item))?;
            if !is_unique || known.insert(item.to_string()) {
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
            let member =
                self.make(schema, depth + 1, variant)
                    .map_err(|why| match depth < SHOWN_DEPTH {
                        true => why.context(format!("member {name:?}")),
                        false => why,
                    })?;
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
                && let Ok(member) = self.make(schema, depth + 1, variant)
            {
                members.insert(name.clone(), member);
            }
        }
        let mut number = 0;
        while (members.len() as u64) < least && flat["additionalProperties"] != false {
            number += 1;
            let extra = &flat["additionalProperties"];
            let member = if extra.is_object() {
                self.make(extra, depth + 1, variant)?
            } else {
                self.spend(1)?;
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
    fn without_read_only(&self, schema: &Value, value: &Value, depth: usize) -> Result<Value> {
        if depth > DEPTH_MAX || !(value.is_object() || value.is_array()) || !schema.is_object() {
            return Ok(value.clone());
        }
        let flat = self.flat(schema, depth)?;
        let part = |key: &str| flat.get(key).unwrap_or(&Value::Null);
        Ok(match value {
            Value::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| self.without_read_only(part("items"), item, depth + 1));
                Value::Array(items.collect::<Result<_>>()?)
            }
            Value::Object(members) => {
                let mut kept = Map::new();
                for (name, member) in members {
                    let schema = &part("properties")[name.as_str()];
                    if !self.is_read_only(schema)? {
                        kept.insert(
                            name.clone(),
                            self.without_read_only(schema, member, depth + 1)?,
                        );
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
        self.spend(FLAT_STEPS)?;
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
            let part = self.flat(part, depth + 1)?;
            self.spend(merge::steps(&whole, &part))?;
            merge(&mut whole, part);
        }
        let others = keywords.iter();
        let others = others.filter(|(key, _)| !matches!(key.as_str(), "$ref" | "allOf"));
        self.spend(others.clone().map(|(_, value)| weight(value)).sum())?;
        let mut rest: Map<String, Value> = others
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        number::make_bounds_numbers(&mut rest);
        self.spend(merge::steps(&whole, &rest))?;
        merge(&mut whole, rest);
        Ok(whole)
    }
}

/// The name by which the discriminator of a choice selects this option.
fn discriminator_schema(choice: &Value, option: &Value) -> Value {
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

/// The types, by their names or by the keywords that go with one; `null` is the last.
fn kinds_of(schema: &Value) -> Option<Vec<&str>> {
    match &schema["type"] {
        Value::String(kind) => return Some(vec![kind]),
        Value::Array(kinds) => {
            let mut names: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            names.sort_by_key(|kind| *kind == "null");
            return Some(names);
        }
        _ => {}
    }
    kind_by_keywords(schema).map(|kind| vec![kind])
}

fn kind_by_keywords(schema: &Value) -> Option<&'static str> {
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
        () if has(&[
            "minLength",
            "maxLength",
            "format",
            "pattern",
            "contentMediaType",
            "contentEncoding",
        ]) =>
        {
            Some("string")
        }
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

/// How many steps it is to copy or compare a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / BYTES_OF_STEP,
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(members) => {
            let members = members.iter();
            let weights = members.map(|(name, member)| name.len() / BYTES_OF_STEP + weight(member));
            1 + weights.sum::<usize>()
        }
    }
}

/// The value with its scalars as texts.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(as_text).collect(),
        Value::Number(number) => Value::String(number.to_string()),
        Value::String(text) => Value::String(slot::exact_digits(text).unwrap_or(text).to_owned()),
        Value::Bool(truth) => Value::String(truth.to_string()),
        value => value.clone(),
    }
}
