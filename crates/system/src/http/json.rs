//! Values in documents of JSON.

use serde_json::Value;
use serde_json_path::JsonPath;

/// The text, number or truth value that is first at a JSONPath, as text.
pub fn text_at(document: &Value, path: &JsonPath) -> Option<String> {
    match path.query(document).first()? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The same in a body, for a JSONPath that was checked; `None` also if the body is not JSON.
pub fn text_in(body: &str, path: &str) -> Option<String> {
    let json = serde_json::from_str(body).ok()?;
    let path = JsonPath::parse(path).ok()?;
    text_at(&json, &path)
}
