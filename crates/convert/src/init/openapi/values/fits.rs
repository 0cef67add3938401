//! Whether a value that is sent obeys a schema.

use std::{cmp::Ordering, collections::HashSet};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::{
    super::super::exact,
    DEPTH_MAX, Values,
    number::{Decimal, is_in_format},
    pattern, weight,
};

impl Values<'_> {
    /// `format` of texts is not tested, nor a pattern that is none here: a document's own examples are believed in these.
    pub(super) fn fits(&self, schema: &Value, value: &Value, depth: usize) -> Result<bool> {
        if depth > DEPTH_MAX {
            bail!("its schemas are nested deeper than {DEPTH_MAX}");
        }
        if schema == &Value::Bool(false) {
            return Ok(false);
        }
        self.spend(1)?;
        let flat = self.flat(schema, depth)?;
        if value.is_null() && flat.get("nullable") == Some(&Value::Bool(true)) {
            return Ok(true);
        }
        Ok(has_type(&flat, value)
            && self.has_bounds(&flat, value)?
            && self.fits_choices(&flat, value, depth)?
            && self.fits_parts(&flat, value, depth)?)
    }

    fn fits_choices(&self, flat: &Map<String, Value>, value: &Value, depth: usize) -> Result<bool> {
        let count = |key: &str| self.count_fitting(flat.get(key), value, depth);
        if count("oneOf")?.is_some_and(|count| count != 1)
            || count("anyOf")?.is_some_and(|count| count == 0)
        {
            return Ok(false);
        }
        match flat.get("not") {
            Some(not) => Ok(!self.fits(not, value, depth + 1)?),
            None => Ok(true),
        }
    }

    /// How many of the schemas the value obeys; `None` if they are no list.
    fn count_fitting(
        &self,
        schemas: Option<&Value>,
        value: &Value,
        depth: usize,
    ) -> Result<Option<usize>> {
        let Some(schemas) = schemas.and_then(Value::as_array) else {
            return Ok(None);
        };
        let mut count = 0;
        for schema in schemas {
            count += usize::from(self.fits(schema, value, depth + 1)?);
        }
        Ok(Some(count))
    }

    fn fits_parts(&self, flat: &Map<String, Value>, value: &Value, depth: usize) -> Result<bool> {
        let part = |key: &str| flat.get(key).unwrap_or(&Value::Null);
        match value {
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    let schema = part("prefixItems").get(number).unwrap_or(part("items"));
                    if !self.fits(schema, item, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Value::Object(members) => {
                for name in part("required")
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                {
                    if !members.contains_key(name)
                        && !self.is_read_only(&part("properties")[name])?
                    {
                        return Ok(false);
                    }
                }
                for (name, member) in members {
                    let has_patterns = flat.contains_key("patternProperties");
                    let schema = match part("properties").get(name) {
                        Some(schema) => schema,
                        None if has_patterns => &Value::Null,
                        None => part("additionalProperties"),
                    };
                    if !self.fits(schema, member, depth + 1)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn has_bounds(&self, flat: &Map<String, Value>, value: &Value) -> Result<bool> {
        if flat.get("const").is_some_and(|only| only != value) {
            return Ok(false);
        }
        let values = flat.get("enum").and_then(Value::as_array);
        if values.is_some_and(|values| !values.contains(value)) {
            return Ok(false);
        }
        let counts = |least: &str, most: &str, count: usize| {
            let bound = |key: &str| flat.get(key).and_then(Value::as_u64);
            bound(least).is_none_or(|least| count as u64 >= least)
                && bound(most).is_none_or(|most| count as u64 <= most)
        };
        Ok(match value {
            Value::Number(_) => is_within(flat, value),
            Value::String(_) if exact::is_exact(value) => is_within(flat, value),
            Value::String(text) => {
                let pattern = flat.get("pattern").and_then(Value::as_str);
                counts("minLength", "maxLength", text.chars().count())
                    && match pattern {
                        Some(pattern) => {
                            pattern::matches(pattern, text, &|steps| self.spend(steps))?
                        }
                        None => true,
                    }
            }
            Value::Array(items) => {
                let is_unique = flat.get("uniqueItems") == Some(&Value::Bool(true));
                counts("minItems", "maxItems", items.len())
                    && (!is_unique || self.are_unique(items)?)
            }
            Value::Object(members) => counts("minProperties", "maxProperties", members.len()),
            _ => true,
        })
    }

    fn are_unique(&self, items: &[Value]) -> Result<bool> {
        self.spend(items.iter().map(weight).sum())?;
        let mut known = HashSet::new();
        Ok(items.iter().all(|item| known.insert(item.to_string())))
    }
}

fn has_type(flat: &Map<String, Value>, value: &Value) -> bool {
    let is = |kind: &str| is_of_type(value, kind);
    match flat.get("type") {
        Some(Value::String(kind)) => is(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || Decimal::new(value).is_some_and(Decimal::is_integer)
                || (exact::is_exact(value)
                    && exact::digits(value).is_some_and(|text| !text.contains(['.', 'e', 'E'])))
        }
        "number" => value.is_number() || exact::is_exact(value),
        "string" => value.is_string() && !exact::is_exact(value),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// A bound or a number of more digits than are computed with is believed.
fn is_within(flat: &Map<String, Value>, value: &Value) -> bool {
    let Some(number) = Decimal::new(value) else {
        return true;
    };
    let limit = |key: &str| flat.get(key).and_then(Decimal::new);
    let bound = |key: &str, holds: fn(Ordering) -> bool| {
        let compared = limit(key).and_then(|limit| number.compare(limit));
        compared.is_none_or(holds)
    };
    is_in_format(flat.get("format").unwrap_or(&Value::Null), number)
        && bound("minimum", Ordering::is_ge)
        && bound("exclusiveMinimum", Ordering::is_gt)
        && bound("maximum", Ordering::is_le)
        && bound("exclusiveMaximum", Ordering::is_lt)
        && limit("multipleOf").is_none_or(|step| number.is_multiple(step))
}
