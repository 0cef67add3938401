//! An OpenAPI 3 document → one call for each operation for which the document has all required values.

mod body;
mod document;
mod parameters;
mod security;
mod server;
mod style;
mod syntax;
mod values;

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use waggle_report::wording::format::plural;

use super::call::{Call, ImportedCalls, header, name_of, to_name};
use crate::target::Target;
use body::body;
use document::Document;
use values::Values;

/// Methods that change nothing, in the order of the study.
const READS: [&str; 3] = ["get", "head", "options"];
const WRITES: [&str; 4] = ["post", "put", "patch", "delete"];

/// Options of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options<'a> {
    /// Include operations that change something.
    pub(crate) with_writes: bool,
    /// Replaces the server of the document.
    pub(crate) server: Option<&'a str>,
    /// The document's folder, below which its other files are; `None` if it was not read from a file.
    pub(crate) folder: Option<&'a Path>,
}

/// Reads a document in JSON or YAML.
pub(crate) fn read(text: &str, options: Options<'_>) -> Result<ImportedCalls> {
    let root = syntax::parse(text)?;
    refuse_other_versions(&root)?;
    let document = Document::new(root, options.folder);
    let paths = document.root()["paths"]
        .as_object()
        .context("the document has no paths")?;
    let mut imported = ImportedCalls {
        title: document.root()["info"]["title"].as_str().map(str::to_owned),
        ..ImportedCalls::default()
    };
    let values = Values::new(&document);
    let mut writes = 0_usize;
    for (path, item) in paths {
        let item = match parameters::resolve_object(&document, item) {
            Ok(item) => item,
            Err(why) => {
                imported.left_out.push(format!("{path}: {why:#}"));
                continue;
            }
        };
        for method in READS.iter().chain(&WRITES) {
            let Some(operation) = item.get(*method) else {
                continue;
            };
            if WRITES.contains(method) && !options.with_writes {
                writes += 1;
                continue;
            }
            let shown = format!("{} {path}", method.to_ascii_uppercase());
            let endpoint = Operation {
                path,
                method,
                item,
                operation,
            };
            match read_operation(&document, endpoint, &values, options.server) {
                Ok((call, unsent)) => {
                    imported.calls.push(call);
                    if !unsent.is_empty() {
                        let unsent = unsent.join(", ");
                        let line = format!("{shown}: the parameters {unsent}");
                        imported.left_out.push(line);
                    }
                }
                Err(why) => imported.left_out.push(format!("{shown}: {why:#}")),
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

/// The call of an operation, and the names of parameters that it does not send.
fn read_operation(
    document: &Document,
    endpoint: Operation<'_>,
    values: &Values<'_>,
    server: Option<&str>,
) -> Result<(Call, Vec<String>)> {
    let operation = parameters::resolve_object(document, endpoint.operation)?;
    let endpoint = Operation {
        operation,
        ..endpoint
    };
    let call = document.call(endpoint, values, server)?;
    Ok((call, document.unsent_parameters(endpoint.item, operation)?))
}

fn refuse_other_versions(root: &Value) -> Result<()> {
    let version = root["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        match &root["swagger"] {
            Value::Null => {
                bail!(
                    "this is not an OpenAPI document: openapi is {version:?}; expected 3.0 or 3.1"
                )
            }
            Value::String(old) => bail!("this is Swagger {old}; expected OpenAPI 3"),
            old => bail!("this is Swagger {old}; expected OpenAPI 3"),
        }
    }
    Ok(())
}

/// One operation and the path that it belongs to.
#[derive(Clone, Copy)]
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

impl Document {
    fn call(
        &self,
        endpoint: Operation<'_>,
        values: &Values<'_>,
        server: Option<&str>,
    ) -> Result<Call> {
        let server = server::server([endpoint.operation, endpoint.item, self.root()], server)?;
        values.begin_operation();
        let mut headers = self.security(endpoint.operation)?;
        let secret_fields = headers.iter().map(|(name, _)| name.clone()).collect();
        let mut in_path = Vec::new();
        let mut query = Vec::new();
        for parameter in self.parameters(endpoint.item, endpoint.operation)? {
            let name = parameter["name"].as_str().unwrap_or_default();
            let location = parameter["in"].as_str().unwrap_or_default();
            let is_given = location == "header" && header(&headers, name).is_some();
            if !parameters::is_needed(parameter) || location == "cookie" || is_given {
                continue;
            }
            let text = parameters::text(values, parameter).with_context(|| {
                format!("the document has no value for its {location} parameter {name:?}")
            })?;
            match location {
                "path" => in_path.push((name, text)),
                "query" => query.push(text),
                "header" => headers.push((name.to_owned(), text)),
                _ => bail!("its parameter {name:?} is in {location:?}"),
            }
        }
        let mut path = format!("{}{}", server.base, filled_path(endpoint.path, &in_path)?);
        if !query.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&query.join("&"));
        }
        let path = Target::parse(&format!("{}{path}", server.origin))?.path;
        let body = body(values, &endpoint.operation["requestBody"])?.map(|(kind, text)| {
            headers.push(("Content-Type".to_owned(), kind));
            text
        });
        let named = endpoint.operation["operationId"]
            .as_str()
            .filter(|id| id.contains(|letter: char| letter.is_ascii_alphanumeric()))
            .map(to_name);
        Ok(Call {
            name: named.unwrap_or_else(|| name_of(endpoint.method, &path)),
            method: endpoint.method.to_ascii_uppercase(),
            origin: server.origin,
            path,
            headers,
            secret_fields,
            body,
            statuses: success_statuses(&endpoint.operation["responses"]),
            ..Call::default()
        })
    }
}

/// The path with its parameters.
fn filled_path(template: &str, parameters: &[(&str, String)]) -> Result<String> {
    let (mut path, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .context("a parameter of its path is not closed")?;
        let (_, text) = parameters
            .iter()
            .find(|(known, _)| *known == name)
            .with_context(|| format!("the parameter {name:?} of its path is not described"))?;
        path.push_str(before);
        path.push_str(text);
        rest = after;
    }
    path.push_str(rest);
    Ok(path)
}

/// All documented 2xx; none, which is any 2xx, if the document has a range or no such status.
fn success_statuses(responses: &Value) -> Vec<u16> {
    let statuses = || responses.as_object().into_iter().flat_map(Map::keys);
    if statuses().any(|status| status.eq_ignore_ascii_case("2XX")) {
        return Vec::new();
    }
    let statuses = statuses().filter_map(|status| status.parse().ok());
    statuses
        .filter(|status| (200..300).contains(status))
        .collect()
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
            folder: None,
        }
    }

    #[test]
    fn operations_are_called_with_what_the_document_says() {
        let imported = read(DOCUMENT, options(false, None)).unwrap();
        let calls: Vec<_> = imported
            .calls
            .iter()
            .map(|call| (&*call.name, &*call.path, &*call.statuses))
            .collect();
        assert_eq!(
            calls,
            [
                ("listOrders", "/v1/orders?limit=5", &[200][..]),
                ("get-orders-a-20b", "/v1/orders/a%20b", &[]),
                ("get-v1-secret-x", "/v1/secret/x", &[]),
            ]
        );
        let header = &imported.calls[0].headers;
        assert_eq!(header, &[("X-Tenant".to_owned(), "blue".to_owned())]);
        let left_out: Vec<&str> = imported.left_out.iter().map(|line| &**line).collect();
        assert_eq!(
            left_out,
            [
                "GET /orders: the parameters after (optional), sid (a cookie)",
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

    /// OAS 3.1.1, "Parameter Object": a parameter of one of these names "shall be ignored". Other places and names are not.
    #[test]
    fn headers_that_other_parts_describe_are_ignored() {
        let check = |name: &str, location: &str, is_sent: bool| {
            let text = format!(
                "openapi: 3.1.0\nservers: [{{url: 'http://h'}}]\npaths: {{/a: {{post: {{requestBody: {{content: {{application/json: {{example: 1}}}}}},\n  \
                 parameters: [{{name: {name}, in: {location}, required: true, schema: {{type: string, enum: [given]}}}}]}}}}}}\n"
            );
            let imported = read(&text, options(true, None)).unwrap();
            let call = &imported.calls[0];
            let in_header = call
                .headers
                .contains(&(name.to_owned(), "given".to_owned()));
            let in_query = call.path == format!("/a?{name}=given");
            assert_eq!(
                in_header || in_query,
                is_sent,
                "{name} in {location}: {call:?}"
            );
            assert_eq!(
                super::header(&call.headers, "content-type"),
                Some("application/json")
            );
            assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
        };
        for name in ["Accept", "content-type", "AUTHORIZATION"] {
            check(name, "header", false);
            check(name, "query", true);
        }
        check("Accept-Language", "header", true);
        check("X-Authorization", "header", true);
    }

    #[test]
    fn all_documented_successes_are_expected() {
        let check = |responses: &str, expected: &[u16]| {
            let text = format!(
                "openapi: 3.0.0\nservers: [{{url: 'http://h'}}]\npaths: {{/a: {{get: {{responses: {responses}}}}}}}\n"
            );
            let imported = read(&text, options(false, None)).unwrap();
            assert_eq!(imported.calls[0].statuses, expected, "{responses}");
        };
        check("{200: {}, '202': {}, 204: {}, 404: {}}", &[200, 202, 204]);
        check("{'2XX': {}, 201: {}}", &[]);
        check("{2xx: {}}", &[]);
        check("{default: {}}", &[]);
        check("{default: {}, 201: {}}", &[201]);
        check("{404: {}}", &[]);
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
