//! Whether a value that is sent obeys a schema.

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::{
    DEPTH_MAX, Values,
    number::{DIGITS_MAX, format_range, units},
};

impl Values<'_> {
    /// `pattern` and `format` are not tested: a document's own examples are believed in these.
    pub(super) fn fits(&self, schema: &Value, value: &Value, depth: usize) -> Result<bool> {
        if depth > DEPTH_MAX {
            bail!("its schemas are nested deeper than {DEPTH_MAX}");
        }
        if schema == &Value::Bool(false) {
            return Ok(false);
        }
        let flat = self.flat(schema, depth)?;
        if value.is_null() && flat.get("nullable") == Some(&Value::Bool(true)) {
            return Ok(true);
        }
        Ok(has_type(&flat, value)
            && has_bounds(&flat, value)
            && self.fits_choices(&flat, value, depth)?
            && self.fits_parts(&flat, value, depth)?)
    }

    fn fits_choices(&self, flat: &Map<String, Value>, value: &Value, depth: usize) -> Result<bool> {
        let count = |key: &str| -> Result<Option<usize>> {
            let Some(options) = flat.get(key).and_then(Value::as_array) else {
                return Ok(None);
            };
            let mut fitting = 0;
            for option in options {
                fitting += usize::from(self.fits(option, value, depth + 1)?);
            }
            Ok(Some(fitting))
        };
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
}

fn has_type(flat: &Map<String, Value>, value: &Value) -> bool {
    let is = |kind: &str| match kind {
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    };
    match flat.get("type") {
        Some(Value::String(kind)) => is(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

fn has_bounds(flat: &Map<String, Value>, value: &Value) -> bool {
    if flat.get("const").is_some_and(|only| only != value) {
        return false;
    }
    if flat
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(|values| !values.contains(value))
    {
        return false;
    }
    let counts = |least: &str, most: &str, count: usize| {
        let bound = |key: &str| flat.get(key).and_then(Value::as_u64);
        bound(least).is_none_or(|least| count as u64 >= least)
            && bound(most).is_none_or(|most| count as u64 <= most)
    };
    match value {
        Value::String(text) => counts("minLength", "maxLength", text.chars().count()),
        Value::Array(items) => {
            let is_unique = || {
                items
                    .iter()
                    .enumerate()
                    .all(|(number, item)| !items[..number].contains(item))
            };
            counts("minItems", "maxItems", items.len())
                && (flat.get("uniqueItems") != Some(&Value::Bool(true)) || is_unique())
        }
        Value::Object(members) => counts("minProperties", "maxProperties", members.len()),
        Value::Number(_) => {
            let bound = |key: &str, holds: fn(i128, i128) -> bool| {
                let limit = flat.get(key).and_then(units);
                limit
                    .zip(units(value))
                    .is_none_or(|(limit, number)| holds(number, limit))
            };
            let is_in_format = || {
                let range = flat.get("format").and_then(format_range);
                let whole = units(value).map(|units| units.div_euclid(10_i128.pow(DIGITS_MAX)));
                range
                    .zip(whole)
                    .is_none_or(|(range, whole)| range.contains(&whole))
            };
            is_in_format()
                && bound("minimum", |number, limit| number >= limit)
                && bound("exclusiveMinimum", |number, limit| number > limit)
                && bound("maximum", |number, limit| number <= limit)
                && bound("exclusiveMaximum", |number, limit| number < limit)
                && bound("multipleOf", |number, step| step <= 0 || number % step == 0)
        }
        _ => true,
    }
}
