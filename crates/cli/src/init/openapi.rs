//! An OpenAPI 3 document → one call for each operation for which the document has all required values.

mod parameters;
mod security;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use waggle_report::wording::format::plural;

use super::{
    call::{Call, ImportedCalls, header, name_of, to_name},
    names::percent_encoded as encoded,
};
use crate::load::target::{Target, display_url};

/// Methods that change nothing, in the order of the study.
const READS: [&str; 3] = ["get", "head", "options"];
const WRITES: [&str; 4] = ["post", "put", "patch", "delete"];
/// Maximum depth of `$ref` and of schemas.
const DEPTH_MAX: usize = 16;

/// Options of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options<'a> {
    /// Include operations that change something.
    pub(crate) with_writes: bool,
    /// Replaces the server of the document.
    pub(crate) server: Option<&'a str>,
}

/// Reads a document in JSON or YAML.
pub(crate) fn read(text: &str, options: Options<'_>) -> Result<ImportedCalls> {
    let document = Document(parse(text)?);
    let version = document.0["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        match document.0["swagger"].as_str() {
            Some(old) => bail!("this is Swagger {old}; expected OpenAPI 3"),
            None => {
                bail!(
                    "this is not an OpenAPI document: openapi is {version:?}; expected 3.0 or 3.1"
                )
            }
        }
    }
    let server = document.server(options.server)?;
    let paths = document.0["paths"]
        .as_object()
        .context("the document has no paths")?;
    let mut imported = ImportedCalls {
        title: document.0["info"]["title"].as_str().map(str::to_owned),
        ..ImportedCalls::default()
    };
    let mut writes = 0_usize;
    for (path, item) in paths {
        let item = document.resolve(item);
        for method in READS.iter().chain(&WRITES) {
            let Some(operation) = item.get(*method) else {
                continue;
            };
            if WRITES.contains(method) && !options.with_writes {
                writes += 1;
                continue;
            }
            match document.call(&server, path, method, item, operation) {
                Ok(call) => {
                    imported.calls.push(call);
                    let unsent = document.unsent_parameters(item, operation);
                    if !unsent.is_empty() {
                        let (method, unsent) = (method.to_ascii_uppercase(), unsent.join(", "));
                        let line = format!("{method} {path}: the parameters {unsent}");
                        imported.left_out.push(line);
                    }
                }
                Err(why) => imported
                    .left_out
                    .push(format!("{} {path}: {why}", method.to_ascii_uppercase())),
            }
        }
    }
    if writes > 0 {
        imported.left_out.push(format!(
            "{}; --include-writes includes them",
            plural(writes, "writing operation")
        ));
    }
    if imported.calls.is_empty() {
        let why = imported.left_out.join("\n  ");
        bail!("no operation can be taken from the document:\n  {why}");
    }
    Ok(imported)
}

fn parse(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).context("the document is not JSON");
    }
    super::yaml::read(text).context("the document is not YAML")
}

struct Document(Value);

/// Origin, and the base of all paths.
struct Server {
    origin: String,
    base: String,
}

impl Document {
    fn server(&self, override_url: Option<&str>) -> Result<Server> {
        let first = &self.0["servers"][0];
        let mut url = first["url"].as_str().unwrap_or("/").to_owned();
        for (name, variable) in first["variables"].as_object().into_iter().flatten() {
            if let Some(value) = variable["default"].as_str() {
                url = url.replace(&format!("{{{name}}}"), value);
            }
        }
        let is_relative = !url.contains("://");
        let (origin, base) = match (override_url, is_relative) {
            (Some(server), true) => {
                let server = Target::parse(server)?;
                let base = format!("{}{url}", server.path.trim_end_matches('/'));
                (server.origin(), base)
            }
            (Some(server), false) => {
                let server = Target::parse(server)?;
                let origin = server.origin();
                let base = match &*server.path {
                    "/" => parse_server(&url)?.path,
                    _ => server.path,
                };
                (origin, base)
            }
            (None, true) => {
                bail!(
                    "the document names no server with a host; expected --server http://HOST:PORT"
                )
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
            let location = parameter["in"].as_str().unwrap_or_default();
            let is_needed = parameters::is_needed(parameter);
            let value = self.value_of(parameter);
            match (location, value) {
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
                    bail!("the document has no value for its {location} parameter {name:?}")
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
            .map(to_name);
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

    /// An example of a parameter or media type: the given one, or one generated from the schema.
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

    /// A value that fits a schema, with required members only; `None` if the schema is not specific enough.
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
        self.example_of_type(schema, depth)
    }

    fn example_of_type(&self, schema: &Value, depth: usize) -> Option<Value> {
        // OpenAPI 3.1 allows lists of types; null is not used.
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
                bail!("the document has no value for its body of {kind}");
            }
            return Ok(None);
        };
        let body = match value {
            Value::String(text) if !is_json(kind) => text,
            value if is_json(kind) => value.to_string(),
            _ => bail!("its body is {kind}, which is not supported"),
        };
        headers.push(("Content-Type".to_owned(), kind.clone()));
        Ok(Some(body))
    }
}

/// The server of the document.
fn parse_server(url: &str) -> Result<Target> {
    if url.contains('{') {
        let url = display_url(url);
        bail!(
            "the server {url} has a variable without a default; expected --server http://HOST:PORT"
        );
    }
    Target::parse(url)
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

/// The lowest documented 2xx status.
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
    use super::{Options, read};

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
        - { name: sid, in: cookie, required: true, example: x }
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

    fn options(with_writes: bool, server: Option<&str>) -> Options<'_> {
        Options {
            with_writes,
            server,
        }
    }

    #[test]
    fn operations_are_called_with_what_the_document_says() {
        let imported = read(DOCUMENT, options(false, None)).unwrap();
        let calls: Vec<_> = imported
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
        let header = &imported.calls[0].headers;
        assert_eq!(header, &[("X-Tenant".to_owned(), "blue".to_owned())]);
        let left_out: Vec<&str> = imported.left_out.iter().map(|line| &**line).collect();
        assert_eq!(
            left_out,
            [
                "GET /orders: the parameters after (optional), sid (a cookie)",
                "GET /secret/{what}: the document has no value for its path parameter \"what\"",
                "1 writing operation; --include-writes includes them",
            ]
        );
    }

    #[test]
    fn writes_are_taken_on_request_and_the_server_can_be_another() {
        let imported = read(DOCUMENT, options(true, Some("http://other:9"))).unwrap();
        let post = imported
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
    fn other_documents_are_refused() {
        for text in [
            "",
            "{}",
            "swagger: '2.0'",
            "openapi: 3.0.0",
            "openapi: 3.0.0\npaths: {}\n",
        ] {
            assert!(
                read(text, options(true, Some("http://h"))).is_err(),
                "{text}"
            );
        }
    }
}
