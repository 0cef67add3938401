//! An OpenAPI 3 document → one call for each operation that can be called with what the document says.

mod security;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::{
    call::{Call, Found, header, in_letters_of_names, name_of},
    names::percent_encoded as encoded,
};
use crate::load::target::{Target, display_url};

/// Methods that change nothing, in the order they are written.
const READS: [&str; 3] = ["get", "head", "options"];
const WRITES: [&str; 4] = ["post", "put", "patch", "delete"];
/// Deepest `$ref` and schema that are followed.
const DEPTH_MAX: usize = 16;

/// What the user decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wishes<'a> {
    /// Operations that change something are taken too.
    pub(crate) with_writes: bool,
    /// In place of the document's own server.
    pub(crate) server: Option<&'a str>,
}

/// Reads a document in JSON or YAML.
pub(crate) fn read(text: &str, wishes: Wishes<'_>) -> Result<Found> {
    let document = Document(parse(text)?);
    let version = document.0["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        match document.0["swagger"].as_str() {
            Some(old) => bail!("this is Swagger {old}; expected OpenAPI 3"),
            None => {
                bail!("this is no OpenAPI document: openapi is {version:?}; expected 3.0 or 3.1")
            }
        }
    }
    let server = document.server(wishes.server)?;
    let paths = document.0["paths"]
        .as_object()
        .context("the document has no paths")?;
    let mut found = Found::default();
    let mut writes = 0_usize;
    for (path, item) in paths {
        let item = document.resolve(item);
        for method in READS.iter().chain(&WRITES) {
            let Some(operation) = item.get(*method) else {
                continue;
            };
            if WRITES.contains(method) && !wishes.with_writes {
                writes += 1;
                continue;
            }
            match document.call(&server, path, method, item, operation) {
                Ok(call) => found.calls.push(call),
                Err(why) => found
                    .left_out
                    .push(format!("{} {path}: {why}", method.to_ascii_uppercase())),
            }
        }
    }
    if writes > 0 {
        found.left_out.push(format!(
            "{writes} operations that change something; --include-writes takes them"
        ));
    }
    if found.calls.is_empty() {
        let why = found.left_out.join("\n  ");
        bail!("no operation can be called with what the document says:\n  {why}");
    }
    Ok(found)
}

fn parse(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("the document is no JSON");
    }
    super::yaml::read(text).context("the document is no YAML")
}

struct Document(Value);

/// Origin and the path before every path.
struct Server {
    origin: String,
    base: String,
}

impl Document {
    fn server(&self, wish: Option<&str>) -> Result<Server> {
        let first = &self.0["servers"][0];
        let mut url = first["url"].as_str().unwrap_or("/").to_owned();
        for (name, variable) in first["variables"].as_object().into_iter().flatten() {
            if let Some(value) = variable["default"].as_str() {
                url = url.replace(&format!("{{{name}}}"), value);
            }
        }
        let is_relative = !url.contains("://");
        let (origin, base) = match (wish, is_relative) {
            (Some(wish), true) => {
                let wish = Target::parse(wish)?;
                let base = format!("{}{url}", wish.path.trim_end_matches('/'));
                (wish.origin(), base)
            }
            (Some(wish), false) => {
                let wish = Target::parse(wish)?;
                let origin = wish.origin();
                let base = match &*wish.path {
                    "/" => parse_server(&url)?.path,
                    _ => wish.path,
                };
                (origin, base)
            }
            (None, true) => {
                bail!("the document names no server; give one: --server http://HOST:PORT")
            }
            (None, false) => {
                let server = parse_server(&url)?;
                (server.origin(), server.path)
            }
        };
        Ok(Server {
            origin,
            base: base.trim_end_matches('/').to_owned(),
        })
    }

    /// Follows a `$ref` within the document.
    fn resolve<'a>(&'a self, mut value: &'a Value) -> &'a Value {
        for _ in 0..DEPTH_MAX {
            let Some(reference) = value["$ref"].as_str() else {
                break;
            };
            let target = reference
                .strip_prefix('#')
                .and_then(|pointer| self.0.pointer(pointer));
            match target {
                Some(target) => value = target,
                None => break,
            }
        }
        value
    }

    fn call(
        &self,
        server: &Server,
        path: &str,
        method: &str,
        item: &Value,
        operation: &Value,
    ) -> Result<Call> {
        let mut path = format!("{}{path}", server.base);
        let mut query = Vec::new();
        let mut headers = self.security(operation)?;
        let secret_fields = headers.iter().map(|(name, _)| name.clone()).collect();
        for parameter in self.parameters(item, operation) {
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            let is_needed = parameter["required"].as_bool().unwrap_or(false) || place == "path";
            let value = self.value_of(parameter);
            match (place, value) {
                ("path", Some(value)) => {
                    path = path.replace(&format!("{{{name}}}"), &encoded(&plain(&value)));
                }
                ("query", Some(value)) if is_needed => {
                    query.push(format!("{}={}", encoded(name), encoded(&plain(&value))));
                }
                ("header", Some(value)) if is_needed && header(&headers, name).is_none() => {
                    headers.push((name.to_owned(), plain(&value)))
                }
                (_, None) if is_needed => {
                    bail!("nothing is known for its {place} parameter {name:?}")
                }
                _ => {}
            }
        }
        if path.contains('{') {
            bail!("a parameter of its path is not described");
        }
        if !query.is_empty() {
            path.push('?');
            path.push_str(&query.join("&"));
        }
        let path = Target::parse(&format!("{}{path}", server.origin))?.path;
        let body = self.body(&operation["requestBody"], &mut headers)?;
        let named = operation["operationId"]
            .as_str()
            .filter(|id| id.contains(|letter: char| letter.is_ascii_alphanumeric()))
            .map(in_letters_of_names);
        Ok(Call {
            name: named.unwrap_or_else(|| name_of(method, &path)),
            method: method.to_ascii_uppercase(),
            origin: server.origin.clone(),
            path,
            headers,
            secret_fields,
            body,
            status: success_status(&operation["responses"]),
            ..Call::default()
        })
    }

    /// Those of the operation, and those of its path that it does not give itself.
    fn parameters<'a>(&'a self, item: &'a Value, operation: &'a Value) -> Vec<&'a Value> {
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

    /// An example of a parameter or of a media type: its own, else one made from its schema.
    fn value_of(&self, described: &Value) -> Option<Value> {
        if let Some(example) = described.get("example") {
            return Some(example.clone());
        }
        let first = described["examples"]
            .as_object()
            .and_then(|examples| examples.values().next())
            .map(|example| self.resolve(example));
        if let Some(value) = first.and_then(|example| example.get("value")) {
            return Some(value.clone());
        }
        self.example_value(&described["schema"], 0)
    }

    /// A value that fits a schema, with its required members only; `None` where the schema says too little.
    fn example_value(&self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > DEPTH_MAX {
            return None;
        }
        let schema = self.resolve(schema);
        let given = schema
            .get("example")
            .or_else(|| schema.get("default"))
            .or_else(|| schema.get("const"))
            .or_else(|| schema["examples"].get(0))
            .or_else(|| schema["enum"].get(0));
        if let Some(given) = given {
            return Some(given.clone());
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let mut whole = Map::new();
            for part in parts {
                match self.example_value(part, depth + 1)? {
                    Value::Object(members) => whole.extend(members),
                    other => return Some(other),
                }
            }
            return Some(Value::Object(whole));
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(first) = schema[choice].get(0) {
                return self.example_value(first, depth + 1);
            }
        }
        self.made_of_type(schema, depth)
    }

    fn made_of_type(&self, schema: &Value, depth: usize) -> Option<Value> {
        // 3.1 has lists of types; null is never the one that is meant.
        let kind = match &schema["type"] {
            Value::String(kind) => kind.as_str(),
            Value::Array(kinds) => kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| *kind != "null")?,
            _ if schema["properties"].is_object() => "object",
            _ => return None,
        };
        let least = |key: &str| schema[key].as_i64();
        match kind {
            "integer" => Some(Value::from(least("minimum").unwrap_or(1))),
            "number" => Some(Value::from(schema["minimum"].as_f64().unwrap_or(1.0))),
            "boolean" => Some(Value::Bool(true)),
            "string" => text_of(schema).map(Value::String),
            "array" => {
                let item = self.example_value(&schema["items"], depth + 1);
                let count = usize::from(least("minItems").unwrap_or(1) > 0);
                Some(Value::Array(item.into_iter().take(count).collect()))
            }
            "object" => {
                let mut members = Map::new();
                for name in schema["required"].as_array().into_iter().flatten() {
                    let name = name.as_str()?;
                    let member = self.example_value(&schema["properties"][name], depth + 1)?;
                    members.insert(name.to_owned(), member);
                }
                Some(Value::Object(members))
            }
            _ => None,
        }
    }

    fn body(
        &self,
        described: &Value,
        headers: &mut Vec<(String, String)>,
    ) -> Result<Option<String>> {
        let described = self.resolve(described);
        let Some(kinds) = described["content"]
            .as_object()
            .filter(|kinds| !kinds.is_empty())
        else {
            return Ok(None);
        };
        let json = kinds.iter().find(|(kind, _)| is_json(kind));
        let (kind, media) = json
            .or_else(|| kinds.iter().find(|(kind, _)| kind.starts_with("text/")))
            .or_else(|| kinds.iter().next())
            .context("its body has no media type")?;
        let Some(value) = self.value_of(media) else {
            if described["required"].as_bool() == Some(true) {
                bail!("nothing is known for its body of {kind}");
            }
            return Ok(None);
        };
        let body = match value {
            Value::String(text) if !is_json(kind) => text,
            value if is_json(kind) => value.to_string(),
            _ => bail!("its body is {kind}, which cannot be written here"),
        };
        headers.push(("Content-Type".to_owned(), kind.clone()));
        Ok(Some(body))
    }
}

/// The document's own server.
fn parse_server(url: &str) -> Result<Target> {
    if url.contains('{') {
        let url = display_url(url);
        bail!(
            "the server {url} has a variable without a default; give one: --server http://HOST:PORT"
        );
    }
    Target::parse(url)
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

/// The first success that the document promises.
fn success_status(responses: &Value) -> Option<u16> {
    let statuses = responses.as_object()?.keys();
    statuses
        .filter_map(|status| status.parse().ok())
        .filter(|status| (200..300).contains(status))
        .min()
}

fn text_of(schema: &Value) -> Option<String> {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("uuid") => "00000000-0000-4000-8000-000000000001",
        Some("email") => "someone@example.org",
        Some("uri" | "url") => "http://example.org/",
        Some("ipv4") => "192.0.2.1",
        Some("byte" | "binary") => return None,
        _ if schema["pattern"].is_string() => return None,
        _ => "text",
    };
    let least = schema["minLength"].as_u64().unwrap_or(0);
    let mut text = text.to_owned();
    while (text.chars().count() as u64) < least.min(1_000) {
        text.push('x');
    }
    Some(text)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Wishes, read};

    const DOCUMENT: &str = "
openapi: 3.0.3
servers: [{ url: 'http://{host}/v1', variables: { host: { default: 'h:80' } } }]
paths:
  /orders:
    get:
      operationId: listOrders
      parameters:
        - { name: limit, in: query, required: true, schema: { type: integer, minimum: 5 } }
        - { name: after, in: query, schema: { type: string } }
        - { $ref: '#/components/parameters/Tenant' }
      responses: { 200: { description: fine }, 404: { description: none } }
    post:
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
      responses: { '201': { description: made } }
  /orders/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string }, example: 'a b' }]
    get: { responses: { default: { description: any } } }
  /secret/{what}:
    get: { parameters: [{ name: what, in: path, required: true, schema: { type: string, pattern: '^x' } }], responses: {} }
components:
  parameters:
    Tenant: { name: X-Tenant, in: header, required: true, schema: { enum: [blue, red] } }
  schemas:
    Order:
      allOf:
        - { type: object, required: [name], properties: { name: { type: string, minLength: 6 }, note: { type: string } } }
        - { type: object, required: [items], properties: { items: { type: array, items: { $ref: '#/components/schemas/Item' } } } }
    Item: { type: object, required: [count], properties: { count: { type: integer, default: 3 } } }
";

    fn wishes(with_writes: bool, server: Option<&str>) -> Wishes<'_> {
        Wishes {
            with_writes,
            server,
        }
    }

    #[test]
    fn operations_are_called_with_what_the_document_says() {
        let found = read(DOCUMENT, wishes(false, None)).unwrap();
        let calls: Vec<_> = found
            .calls
            .iter()
            .map(|call| (&*call.name, &*call.path, call.status))
            .collect();
        assert_eq!(
            calls,
            [
                ("listOrders", "/v1/orders?limit=5", Some(200)),
                ("get-orders-a-20b", "/v1/orders/a%20b", None),
            ]
        );
        let header = &found.calls[0].headers;
        assert_eq!(header, &[("X-Tenant".to_owned(), "blue".to_owned())]);
        assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
    }

    #[test]
    fn writes_are_taken_on_request_and_the_server_can_be_another() {
        let found = read(DOCUMENT, wishes(true, Some("http://other:9"))).unwrap();
        let post = found
            .calls
            .iter()
            .find(|call| call.method == "POST")
            .unwrap();
        assert_eq!(
            (&*post.origin, &*post.path),
            ("http://other:9", "/v1/orders")
        );
        assert_eq!(
            post.body.as_deref(),
            Some("{\"items\":[{\"count\":3}],\"name\":\"textxx\"}")
        );
    }

    #[test]
    fn what_is_no_openapi_3_is_refused() {
        for text in [
            "",
            "{}",
            "swagger: '2.0'",
            "openapi: 3.0.0",
            "openapi: 3.0.0\npaths: {}\n",
        ] {
            assert!(
                read(text, wishes(true, Some("http://h"))).is_err(),
                "{text}"
            );
        }
    }
}
