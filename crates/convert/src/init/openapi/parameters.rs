//! Parameters of an OpenAPI operation: which there are, and which a study sends. Optional ones exclude each other or change what is
//! asked, so their examples are not sent unasked.

use anyhow::{Result, bail};
use serde_json::Value;

use super::{document::Document, style::serialize, values::Values};

/// Whether the operation cannot be called without this parameter.
pub(super) fn is_needed(parameter: &Value) -> bool {
    parameter["required"].as_bool().unwrap_or(false) || parameter["in"] == "path"
}

/// A path item or an operation. What stands beside its `$ref` has no defined meaning.
pub(super) fn resolve_object<'a>(document: &'a Document, value: &'a Value) -> Result<&'a Value> {
    let beside = value.as_object().into_iter().flatten();
    let mut beside = beside.map(|(key, _)| &**key);
    let describes = |key: &&str| !["$ref", "summary", "description"].contains(key);
    if value.get("$ref").is_some()
        && let Some(key) = beside.find(describes)
    {
        bail!("it has both $ref and {key}, of which OpenAPI does not say which counts");
    }
    document.resolve(value)
}

/// The text of a parameter as it is sent.
pub(super) fn text(values: &Values<'_>, parameter: &Value) -> Result<String> {
    let content = parameter["content"].as_object();
    let described = content.and_then(|kinds| kinds.values().next());
    serialize(parameter, &values.value_of(described.unwrap_or(parameter))?)
}

/// Whether OAS has a parameter ignored: these headers are described by other parts of the document.
fn is_ignored(parameter: &Value) -> bool {
    let name = parameter["name"].as_str().unwrap_or_default();
    parameter["in"] == "header"
        && ["accept", "content-type", "authorization"].contains(&&*name.to_ascii_lowercase())
}

impl Document {
    /// The parameters of the operation, and those of its path that the operation does not override.
    pub(super) fn parameters<'a>(
        &'a self,
        item: &'a Value,
        operation: &'a Value,
    ) -> Result<Vec<&'a Value>> {
        let list = |owner: &'a Value| -> Result<Vec<&'a Value>> {
            let given = owner["parameters"].as_array().into_iter().flatten();
            given.map(|parameter| self.resolve(parameter)).collect()
        };
        let mut all = list(operation)?;
        for shared in list(item)? {
            let is_given = all
                .iter()
                .any(|entry| entry["name"] == shared["name"] && entry["in"] == shared["in"]);
            if !is_given {
                all.push(shared);
            }
        }
        all.retain(|parameter| !is_ignored(parameter));
        Ok(all)
    }

    /// The names of parameters that are not sent: optional ones, and cookies.
    pub(super) fn unsent_parameters(&self, item: &Value, operation: &Value) -> Result<Vec<String>> {
        let unsent = self.parameters(item, operation)?.into_iter();
        Ok(unsent.filter_map(unsent_name).collect())
    }
}

/// The name of a parameter that is not sent, with the reason.
fn unsent_name(parameter: &Value) -> Option<String> {
    let name = parameter["name"].as_str()?;
    match is_needed(parameter) {
        false => Some(format!("{name} (optional)")),
        true if parameter["in"] == "cookie" => Some(format!("{name} (a cookie)")),
        true => None,
    }
}
