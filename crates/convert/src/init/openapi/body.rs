//! The body of an operation: JSON, a form, a multipart form, or text.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    super::form_body::{self, Part},
    style::serialize,
    syntax::is_json,
    values::Values,
};

/// Keys of schemas and media types that give a value.
const GIVEN: [&str; 6] = ["example", "examples", "default", "const", "enum", "value"];

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
        .or_else(|| prefer(&|kind| is_multipart(kind)))
        .or_else(|| prefer(&|kind| kind.starts_with("text/")))
        .or_else(|| kinds.iter().next())
        .context("its body has no media type")?;
    let kind = media_type(range);
    let made = values
        .value_of(media)
        .with_context(|| format!("the document has no value for its body of {range}"))
        .and_then(|value| written_body(values, media, kind, value));
    match made {
        Ok(made) => Ok(Some(made)),
        Err(why) if described["required"] == true => Err(why),
        Err(_) => Ok(None),
    }
}

/// The value as this media type has it, with the media type that is sent.
fn written_body(
    values: &Values<'_>,
    media: &Value,
    kind: &str,
    value: Value,
) -> Result<(String, String)> {
    match value {
        Value::Object(members) if is_multipart(kind) => {
            let mut all = Vec::new();
            for (name, member) in &members {
                all.extend(parts(values, media, name, member)?);
            }
            Ok(form_body::body(&all))
        }
        value => Ok((kind.to_owned(), body_text(kind, media, value)?)),
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

fn is_multipart(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "multipart/form-data"
}

/// Whether any text is a content of this media type; a picture, for example, has a format of its own.
fn is_any_text(kind: &str) -> bool {
    kind.starts_with("text/") || kind.ends_with("/octet-stream") || kind.ends_with("/*")
}

/// The parts of a member of a multipart form (OAS 3.0.4, "Encoding Object"): an array has a part for each item, an object is JSON, a
/// binary text is a file.
fn parts(values: &Values<'_>, media: &Value, name: &str, value: &Value) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let encoding = &media["encoding"][name];
    let headers = encoding["headers"].as_object().into_iter().flatten();
    for (header, described) in headers {
        let is_required = values.document.resolve(described)?["required"] == true;
        if is_required && !header.eq_ignore_ascii_case("content-type") {
            bail!("part {name:?} of its form has the header {header}, which is not supported");
        }
    }
    let mut schema = values.member(&media["schema"], name)?;
    let items = match value {
        Value::Array(items) => {
            let of_items = schema.remove("items").unwrap_or_default();
            if let Value::Object(of_items) = values.document.resolve(&of_items)? {
                schema = of_items.clone();
            }
            items.as_slice()
        }
        value => std::slice::from_ref(value),
    };
    let is_binary = ["binary", "base64"]
        .iter()
        .any(|kind| schema.get("format") == Some(&json!(kind)))
        || schema.get("contentMediaType").is_some();
    let kinds = encoding["contentType"]
        .as_str()
        .or(schema.get("contentMediaType").and_then(Value::as_str));
    let kind = kinds.and_then(|kinds| {
        kinds
            .split(',')
            .map(str::trim)
            .find(|kind| !kind.contains('*'))
    });
    let is_given = GIVEN
        .iter()
        .any(|key| media.get(key).is_some() || schema.contains_key(*key));
    for item in items {
        let default = match item {
            Value::Object(_) | Value::Array(_) => Some("application/json"),
            _ if is_binary => Some("application/octet-stream"),
            _ => None,
        };
        let kind = kind.or(default);
        let content = match (item, kind) {
            (item, Some(kind)) if is_json(kind) => item.to_string(),
            (Value::String(_), Some(kind)) if !is_given && !is_any_text(kind) => {
                bail!("part {name:?} of its form is {kind}, of which no content is made")
            }
            (Value::String(text), _) => text.clone(),
            (Value::Number(_) | Value::Bool(_), _) => item.to_string(),
            (Value::Null, _) => bail!("part {name:?} of its form: null has no text"),
            (_, kind) => bail!(
                "part {name:?} of its form is {}, which is not supported",
                kind.unwrap_or("text")
            ),
        };
        parts.push(Part {
            name: name.to_owned(),
            file_name: is_binary.then(|| name.to_owned()),
            media_type: kind.map(str::to_owned),
            content,
        });
    }
    Ok(parts)
}

fn body_text(kind: &str, media: &Value, value: Value) -> Result<String> {
    match value {
        value if is_json(kind) => Ok(value.to_string()),
        Value::String(_)
            if is_picture(kind) && !GIVEN.iter().any(|key| media.get(key).is_some()) =>
        {
            bail!("its body is {kind}, of which no content is made")
        }
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

/// Whether a content of this media type has a format that no made text has.
fn is_picture(kind: &str) -> bool {
    let formats = ["application/pdf", "application/zip", "application/gzip"];
    let families = ["image/", "audio/", "video/", "font/"];
    formats.contains(&kind) || families.iter().any(|family| kind.starts_with(family))
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

    use super::{
        super::{document::Document, values::Values},
        body, body_text,
    };

    /// Each part as its head and its content.
    #[test]
    fn members_are_parts_of_a_multipart_form() {
        let check = |properties: Value, encoding: Value, expected: Result<&[&str], &str>| {
            let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
            let schema = json!({"type": "object", "required": names, "properties": properties});
            let media = json!({"schema": schema, "encoding": encoding});
            let described = json!({"required": true, "content": {"multipart/form-data": media}});
            let document = Document::new(json!({"openapi": "3.0.3"}), None);
            let made = body(&Values::new(&document), &described);
            let parts = made.map(|made| {
                let (kind, text) = made.unwrap();
                let (_, boundary) = kind.split_once("multipart/form-data; boundary=").unwrap();
                let text = text.strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
                let line = format!("--{boundary}\r\nContent-Disposition: form-data; ");
                let parts = text.split(&*line);
                let parts = parts.skip(1).map(|part| part.strip_suffix("\r\n").unwrap());
                parts
                    .map(|part| part.replace("\r\n", "|"))
                    .collect::<Vec<_>>()
            });
            let parts = parts.map_err(|why| format!("{why:#}"));
            let expected = expected
                .map(|parts| parts.iter().map(ToString::to_string).collect())
                .map_err(str::to_owned);
            assert_eq!(parts, expected, "{properties} {encoding}");
        };
        let string = json!({"type": "string"});
        let file = json!({"type": "string", "format": "binary"});
        check(
            json!({"a": string, "n": {"type": "integer"}}),
            json!({}),
            Ok(&["name=\"a\"||text", "name=\"n\"||1"]),
        );
        check(
            json!({"o": {"type": "object", "required": ["k"], "properties": {"k": {"type": "boolean"}}}}),
            json!({}),
            Ok(&["name=\"o\"|Content-Type: application/json||{\"k\":true}"]),
        );
        check(
            json!({"l": {"type": "array", "minItems": 2, "items": {"type": "integer"}}}),
            json!({}),
            Ok(&["name=\"l\"||1", "name=\"l\"||1"]),
        );
        check(
            json!({"f": file}),
            json!({}),
            Ok(&["name=\"f\"; filename=\"f\"|Content-Type: application/octet-stream||text"]),
        );
        check(
            json!({"f": file}),
            json!({"f": {"contentType": "text/csv, image/png"}}),
            Ok(&["name=\"f\"; filename=\"f\"|Content-Type: text/csv||text"]),
        );
        check(
            json!({"f": file}),
            json!({"f": {"contentType": "image/png"}}),
            Err("part \"f\" of its form is image/png, of which no content is made"),
        );
        check(
            json!({"a": string}),
            json!({"a": {"headers": {"X-A": {"required": true, "schema": string}}}}),
            Err("part \"a\" of its form has the header X-A, which is not supported"),
        );
    }

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
