//! Parameters of an OpenAPI operation: which there are, and which a study sends. Optional ones exclude each other or change what is
//! asked, so their examples are not sent unasked.

use serde_json::Value;

use super::Document;

/// Whether the operation cannot be called without this parameter.
pub(super) fn is_needed(parameter: &Value) -> bool {
    parameter["required"].as_bool().unwrap_or(false) || parameter["in"] == "path"
}

impl Document {
    /// The parameters of the operation, and those of its path that the operation does not override.
    pub(super) fn parameters<'a>(
        &'a self,
        item: &'a Value,
        operation: &'a Value,
    ) -> Vec<&'a Value> {
        let list = |of: &'a Value| {
            of["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|parameter| self.resolve(parameter))
        };
        let mut all: Vec<&Value> = list(operation).collect();
        for shared in list(item) {
            let is_given = all
                .iter()
                .any(|own| own["name"] == shared["name"] && own["in"] == shared["in"]);
            if !is_given {
                all.push(shared);
            }
        }
        all
    }

    /// The names of parameters that are not sent: optional ones, and cookies.
    pub(super) fn unsent_parameters(&self, item: &Value, operation: &Value) -> Vec<String> {
        let unsent = self.parameters(item, operation).into_iter();
        let named = unsent.filter_map(|parameter| {
            let name = parameter["name"].as_str()?;
            match is_needed(parameter) {
                false => Some(format!("{name} (optional)")),
                true if parameter["in"] == "cookie" => Some(format!("{name} (a cookie)")),
                true => None,
            }
        });
        named.collect()
    }
}
