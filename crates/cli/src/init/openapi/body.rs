//! The body of an operation: JSON, a form, or text.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{style::serialize, syntax::is_json, values::Values};

/// The body with its media type; `None` if there is none, or if none has to be sent and none can be made.
pub(super) fn body(values: &Values<'_>, described: &Value) -> Result<Option<(String, String)>> {
    let described = values.document.resolve(described)?;
    let kinds = described["content"].as_object();
    let Some(kinds) = kinds.filter(|kinds| !kinds.is_empty()) else {
        return Ok(None);
    };
    let prefer = |is: &dyn Fn(&str) -> bool| kinds.iter().find(|(kind, _)| is(kind));
    let (range, media) = prefer(&|kind| is_json(kind))
        .or_else(|| prefer(&|kind| is_form(kind)))
        .or_else(|| prefer(&|kind| kind.starts_with("text/")))
        .or_else(|| kinds.iter().next())
        .context("its body has no media type")?;
    let kind = media_type(range);
    let made = values
        .value_of(media)
        .with_context(|| format!("the document has no value for its body of {range}"))
        .and_then(|value| body_text(kind, media, value));
    match made {
        Ok(text) => Ok(Some((kind.to_owned(), text))),
        Err(why) if described["required"] == true => Err(why),
        Err(_) => Ok(None),
    }
}

/// One media type of a range: a `Content-Type` is no range.
fn media_type(range: &str) -> &str {
    match range {
        "*/*" | "application/*" => "application/json",
        "text/*" => "text/plain",
        kind => kind,
    }
}

fn is_form(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/x-www-form-urlencoded"
}

fn body_text(kind: &str, media: &Value, value: Value) -> Result<String> {
    match value {
        value if is_json(kind) => Ok(value.to_string()),
        Value::String(text) => Ok(text),
        Value::Object(members) if is_form(kind) => {
            let fields = members
                .iter()
                .map(|(name, member)| form_field(&media["encoding"][name.as_str()], name, member));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let sent = fields.iter().filter(|field| !field.is_empty());
            Ok(sent.cloned().collect::<Vec<_>>().join("&"))
        }
        _ => bail!("its body is {kind}, which is not supported"),
    }
}

/// A field as its encoding says (OAS 3.0.4, "Encoding Object"): by style, or by media type, which is JSON for an object.
fn form_field(encoding: &Value, name: &str, value: &Value) -> Result<String> {
    let has_style = ["style", "explode", "allowReserved"]
        .iter()
        .any(|key| encoding.get(key).is_some());
    let is_nested = |value: &Value| value.is_object() || value.is_array();
    let kind = match encoding["contentType"].as_str() {
        Some(kind) if !has_style => Some(kind),
        None if !has_style && value.is_object() => Some("application/json"),
        _ => None,
    };
    if let Value::Array(items) = value
        && (items.is_empty() || (!has_style && items.iter().any(is_nested)))
    {
        let fields = items
            .iter()
            .map(|item| form_field(&json!({"contentType": "application/json"}), name, item));
        return Ok(fields.collect::<Result<Vec<_>>>()?.join("&"));
    }
    let mut parameter = json!({"name": name, "in": "query"});
    match kind {
        Some(kind) => parameter["content"] = json!({ kind: {} }),
        None => {
            for key in ["style", "explode", "allowReserved"] {
                if let Some(given) = encoding.get(key) {
                    parameter[key] = given.clone();
                }
            }
        }
    }
    serialize(&parameter, value).with_context(|| format!("field {name:?} of its form"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::body_text;

    #[test]
    fn forms_are_sent_as_their_encoding_says() {
        let check = |value: Value, encoding: Value, expected: &str| {
            let media = json!({"encoding": encoding});
            let sent = body_text("application/x-www-form-urlencoded", &media, value.clone());
            let sent = sent.unwrap_or_else(|why| format!("refused: {why:#}"));
            assert_eq!(sent, expected, "{value} {encoding}");
        };
        check(json!({}), json!({}), "");
        check(json!({"a": 1, "b": "x y&"}), json!({}), "a=1&b=x%20y%26");
        check(json!({"a": [1, 2], "b": []}), json!({}), "a=1&a=2");
        check(json!({"a": {"b": 1}}), json!({}), "a=%7B%22b%22%3A1%7D");
        check(
            json!({"a": [{"b": 1}, {"b": 2}]}),
            json!({}),
            "a=%7B%22b%22%3A1%7D&a=%7B%22b%22%3A2%7D",
        );
        let deep = json!({"a": {"style": "deepObject", "explode": true}});
        check(json!({"a": {"b": 1, "c": 2}}), deep, "a[b]=1&a[c]=2");
        let joined = json!({"a": {"explode": false}});
        check(json!({"a": [1, 2]}), joined, "a=1,2");
        check(
            json!({"a": null}),
            json!({}),
            "refused: field \"a\" of its form: null has no text",
        );
    }
}
