//! The URL of a server, taken apart.

use url::{Host, ParseError, Position, Url};

use crate::{External, ExternalTls};

/// Longest URL of a server.
const URL_MAX_BYTES: usize = 2_000;

/// Parses the URL of a server.
pub(crate) fn parse(text: &str) -> Result<External, &'static str> {
    match parse_target(text)? {
        (server, path) if path == "/" => Ok(server),
        _ => Err("it has a path, which belongs to the requests"),
    }
}

/// Parses the URL of what a server has: the server, and path and query there.
pub(crate) fn parse_target(text: &str) -> Result<(External, String), &'static str> {
    const NO_HOST: &str = "its host is neither a name nor an address";
    if text.len() > URL_MAX_BYTES {
        return Err("it is too long");
    }
    if !text.contains("://") {
        return Err("it has no scheme");
    }
    let url = Url::parse(text).map_err(|problem| match problem {
        ParseError::InvalidPort => "its port is no number from 1 to 65535",
        _ => NO_HOST,
    })?;
    let is_tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return Err("its scheme is neither http nor https"),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it has a name or password, which belongs into a header from the environment");
    }
    if url.fragment().is_some() {
        return Err("it has a fragment, which no server sees");
    }
    let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
    let host = match url.host().ok_or(NO_HOST)? {
        Host::Domain(name) => name.to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    let port = url.port_or_known_default().filter(|port| *port > 0);
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let server = External {
        url: format!("{}://{authority}", url.scheme()),
        authority: authority.to_owned(),
        host,
        port: port.ok_or("its port is no number from 1 to 65535")?,
        is_tls,
        tls: ExternalTls::default(),
        connect_to: None,
        smoke_test: true,
    };
    Ok((server, path))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn urls_are_taken_apart() {
        let check = |url: &str, host: &str, port: u16, is_tls: bool| {
            let server = parse(url).unwrap();
            assert_eq!(
                (&*server.host, server.port, server.is_tls),
                (host, port, is_tls),
                "{url}"
            );
        };
        check("http://127.0.0.1:8080", "127.0.0.1", 8080, false);
        check("https://api.example.org/", "api.example.org", 443, true);
        check("http://localhost", "localhost", 80, false);
        check("http://[::1]:81", "::1", 81, false);
        check("http://[::1]", "::1", 80, false);
        check("HTTPS://Example.ORG:443", "example.org", 443, true);
        check("http://h:", "h", 80, false);
        for url in [
            "api.example.org",
            "ftp://h",
            "http://",
            "http://h:0",
            "http://h:65536",
            "http://h/path",
            "http://h?x",
            "http://u:p@h",
            "http://[::1",
            "http://[x]:1",
            "http://a b",
        ] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
