//! Security requirements of an OpenAPI document → headers.

use anyhow::{Result, bail};
use serde_json::Value;

use super::document::Document;

impl Document {
    /// The headers of the first alternative that needs only headers. Their values are the names of the schemes; variables replace
    /// them later.
    pub(super) fn security(&self, operation: &Value) -> Result<Vec<(String, String)>> {
        let required = operation
            .get("security")
            .unwrap_or(&self.root()["security"]);
        let alternatives = required.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut beyond = Vec::new();
        for schemes in alternatives.iter().filter_map(Value::as_object) {
            let before = beyond.len();
            let mut headers = Vec::new();
            for name in schemes.keys() {
                match self.scheme(name) {
                    Some(header) => headers.push(header),
                    None => beyond.push(name.as_str()),
                }
            }
            if beyond.len() == before {
                return Ok(headers);
            }
        }
        if !beyond.is_empty() {
            bail!(
                "its security scheme {} is not sent in a header",
                beyond.join(", ")
            );
        }
        Ok(Vec::new())
    }

    fn scheme(&self, name: &str) -> Option<(String, String)> {
        let scheme = self
            .resolve(&self.root()["components"]["securitySchemes"][name])
            .ok()?;
        let part = |key: &str| scheme[key].as_str().unwrap_or_default();
        let authorization =
            |kind: &str| Some(("Authorization".to_owned(), format!("{kind} {name}")));
        match (part("type"), part("in")) {
            ("http", _) if part("scheme").eq_ignore_ascii_case("bearer") => authorization("Bearer"),
            ("http", _) if part("scheme").eq_ignore_ascii_case("basic") => authorization("Basic"),
            // RFC 6750.
            ("oauth2" | "openIdConnect", _) => authorization("Bearer"),
            ("apiKey", "header") => Some((part("name").to_owned(), name.to_owned())),
            _ => None,
        }
    }
}
