//! Servers of an OpenAPI document: those of an operation come before those of its path, and these before the document's.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::target::{Target, display_url};

/// Origin, and the base of all paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) origin: String,
    pub(super) base: String,
}

/// The first server of the innermost object that has servers. `override_url` replaces its host, and its path if it has one.
pub(super) fn server(outermost_last: [&Value; 3], override_url: Option<&str>) -> Result<Server> {
    let given = outermost_last
        .iter()
        .find_map(|object| object["servers"].as_array()?.first());
    let url = match given {
        Some(first) => filled_url(first, override_url.is_some())?,
        None => "/".to_owned(),
    };
    let is_relative = !url.contains("://");
    let (origin, base) = match (override_url, is_relative) {
        (Some(server), true) => {
            let server = Target::parse(server)?;
            let base = format!(
                "{}/{}",
                server.path.trim_end_matches('/'),
                url.trim_start_matches("./").trim_start_matches('/')
            );
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
            bail!("the document names no server with a host; expected --server http://HOST:PORT")
        }
        (None, false) => {
            let server = parse_server(&url)?;
            (server.origin(), server.path)
        }
    };
    let base = base.trim_end_matches('/').to_owned();
    if base.contains('?') {
        bail!("its server has a query");
    }
    Ok(Server { origin, base })
}

/// The URL with the defaults of its variables. A default that its `enum` does not have is no value (OAS 3.1).
fn filled_url(server: &Value, host_is_replaced: bool) -> Result<String> {
    let mut url = server["url"].as_str().unwrap_or("/").to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = match &variable["default"] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if let Some(values) = variable["enum"].as_array().filter(|_| !host_is_replaced)
            && !values.contains(&variable["default"])
        {
            bail!("the default {default:?} of its server's variable {name} is not in its enum");
        }
        url = url.replace(&format!("{{{name}}}"), &default);
    }
    Ok(url)
}

fn parse_server(url: &str) -> Result<Target> {
    if url.contains('{') {
        let url = display_url(url);
        bail!(
            "the server {url} has a variable without a default; expected --server http://HOST:PORT"
        );
    }
    Target::parse(url)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::server;

    #[test]
    fn the_innermost_servers_count_with_their_variables() {
        let check = |operation: Value,
                     item: Value,
                     document: Value,
                     other: Option<&str>,
                     expected: &str| {
            let address = server([&operation, &item, &document], other);
            let address = address.map_or_else(
                |why| why.to_string(),
                |address| format!("{} {}", address.origin, address.base),
            );
            assert!(address.contains(expected), "{address}: {expected}");
        };
        let servers = |url: &str| json!({"servers": [{"url": url}]});
        check(
            servers("http://o/1"),
            servers("http://p/2"),
            servers("http://d/3"),
            None,
            "http://o /1",
        );
        check(
            json!({}),
            servers("http://p/2"),
            servers("http://d/3"),
            None,
            "http://p /2",
        );
        check(
            json!({"servers": []}),
            json!({}),
            servers("http://d/3/"),
            None,
            "http://d /3",
        );
        check(
            servers("v1"),
            json!({}),
            json!({}),
            Some("http://h/x"),
            "http://h /x/v1",
        );
        check(
            servers("http://o/1"),
            json!({}),
            json!({}),
            Some("http://h:9"),
            "http://h:9 /1",
        );
        check(
            json!({}),
            json!({}),
            servers("/v1"),
            None,
            "no server with a host",
        );
        check(
            servers("http://{a}/"),
            json!({}),
            json!({}),
            None,
            "a variable without a default",
        );
        let variables = json!({"servers": [{"url": "http://h:{p}/{v}", "variables": {"p": {"default": 81}, "v": {"default": "b", "enum": ["a", "b"]}}}]});
        check(json!({}), json!({}), variables, None, "http://h:81 /b");
        let outside = json!({"servers": [{"url": "http://{h}", "variables": {"h": {"default": "a", "enum": ["b"]}}}]});
        check(outside, json!({}), json!({}), None, "is not in its enum");
    }
}
