//! Converts the bytes of an HTTP/1.1 request to a head and a body of HTTP/2. Pure.
//!
//! Requests are made in the form of HTTP/1.1 for every protocol, so that stamps, scenarios and bodies need one form only.

use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, Request, Uri, Version, header,
    uri::{Authority, PathAndQuery, Scheme},
};

/// Most header lines of one request.
const HEADERS_MAX: usize = 128;

/// Why a request cannot be sent over HTTP/2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("its head is not HTTP/1.1: {0}")]
    NotHttp(httparse::Error),
    #[error("its head does not end")]
    NoEnd,
    #[error("it has no Host")]
    NoHost,
    #[error("its {0} is not valid in HTTP")]
    BadPart(&'static str),
    #[error("its body is chunked, which HTTP/2 does not support; give it a Content-Length")]
    Chunked,
}

/// Converts requests for any number of connections.
#[derive(Debug)]
pub(crate) struct Requests {
    scheme: Scheme,
    /// Cache of the last head and its conversion: most requests have the same head.
    last_bytes: Vec<u8>,
    last: Request<()>,
}

impl Requests {
    pub(crate) fn new(is_tls: bool) -> Self {
        Self {
            scheme: if is_tls { Scheme::HTTPS } else { Scheme::HTTP },
            last_bytes: Vec::new(),
            last: Request::default(),
        }
    }

    /// The head and the body of a request.
    pub(crate) fn convert(&mut self, bytes: &[u8]) -> Result<(Request<()>, Bytes), RequestError> {
        if self.last_bytes.is_empty() || !bytes.starts_with(&self.last_bytes) {
            let (request, length) = parse(bytes, &self.scheme)?;
            self.last = request;
            self.last_bytes.clear();
            self.last_bytes.extend_from_slice(&bytes[..length]);
        }
        let body = &bytes[self.last_bytes.len()..];
        let body = if body.is_empty() {
            Bytes::new()
        } else {
            Bytes::copy_from_slice(body)
        };
        Ok((self.last.clone(), body))
    }
}

fn parse(bytes: &[u8], scheme: &Scheme) -> Result<(Request<()>, usize), RequestError> {
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut lines);
    let length = match head.parse(bytes).map_err(RequestError::NotHttp)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Err(RequestError::NoEnd),
    };
    let method = Method::from_bytes(head.method.unwrap_or_default().as_bytes())
        .map_err(|_| RequestError::BadPart("method"))?;
    let authority = value_of(head.headers, &header::HOST).ok_or(RequestError::NoHost)?;
    let path = head.path.unwrap_or_default();
    let mut request = Request::new(());
    *request.uri_mut() = uri(scheme, authority, path)?;
    *request.method_mut() = method;
    *request.version_mut() = Version::HTTP_2;
    let connection = value_of(head.headers, &header::CONNECTION).unwrap_or_default();
    for line in head.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes())
            .map_err(|_| RequestError::BadPart("header"))?;
        if name == header::TRANSFER_ENCODING {
            return Err(RequestError::Chunked);
        }
        if !is_end_to_end(&name, line.value, connection) {
            continue;
        }
        let value = HeaderValue::from_bytes(line.value)
            .map_err(|_| RequestError::BadPart("header's value"))?;
        request.headers_mut().append(name, value);
    }
    Ok((request, length))
}

fn uri(scheme: &Scheme, authority: &[u8], path: &str) -> Result<Uri, RequestError> {
    let authority = Authority::try_from(authority).map_err(|_| RequestError::BadPart("host"))?;
    let path = PathAndQuery::try_from(path).map_err(|_| RequestError::BadPart("path"))?;
    Uri::builder()
        .scheme(scheme.clone())
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(|_| RequestError::BadPart("path"))
}

fn value_of<'a>(lines: &[httparse::Header<'a>], name: &HeaderName) -> Option<&'a [u8]> {
    lines
        .iter()
        .find(|line| line.name.eq_ignore_ascii_case(name.as_str()))
        .map(|line| line.value)
}

/// Whether a header is one of the request and not of the connection (RFC 9113, 8.2.2).
fn is_end_to_end(name: &HeaderName, value: &[u8], connection: &[u8]) -> bool {
    let is_of_connection = match name.as_str() {
        "host" | "connection" | "keep-alive" | "proxy-connection" | "upgrade"
        | "http2-settings" => true,
        "te" => !value.eq_ignore_ascii_case(b"trailers"),
        name => connection
            .split(|&byte| byte == b',')
            .any(|named| named.trim_ascii().eq_ignore_ascii_case(name.as_bytes())),
    };
    !is_of_connection
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A converted request as text: method, URI, then header lines in order; and its body.
    fn request_text(bytes: &str) -> Result<String, RequestError> {
        let mut requests = Requests::new(true);
        let (first, body) = requests.convert(bytes.as_bytes())?;
        // The second result is from the cache.
        let (again, _) = requests.convert(bytes.as_bytes())?;
        let text = |request: &Request<()>| {
            let mut text = format!("{} {}", request.method(), request.uri());
            for (name, value) in request.headers() {
                text.push_str(&format!("; {name}: {}", value.to_str().unwrap()));
            }
            text
        };
        assert_eq!(text(&first), text(&again));
        Ok(format!(
            "{} | {}",
            text(&first),
            String::from_utf8(body.to_vec()).unwrap()
        ))
    }

    fn check(bytes: &str, expected: &str) {
        assert_eq!(request_text(bytes).as_deref(), Ok(expected), "{bytes}");
    }

    #[test]
    fn heads_are_converted() {
        check(
            "GET /a?b=c HTTP/1.1\r\nHost: here:81\r\n\r\n",
            "GET https://here:81/a?b=c | ",
        );
        check(
            "POST / HTTP/1.1\r\nhost: x\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\nok",
            "POST https://x/; content-length: 2; x-a: 1; x-a: 2 | ok",
        );
        check(
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Own\r\nKeep-Alive: 5\r\nX-Own: 1\r\nTE: gzip\r\nA: b\r\n\r\n",
            "GET https://x/; a: b | ",
        );
        check(
            "GET / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\n\r\n",
            "GET https://x/; te: trailers | ",
        );
    }

    #[test]
    fn invalid_requests_are_refused() {
        let check = |bytes: &str, expected: RequestError| {
            assert_eq!(request_text(bytes), Err(expected), "{bytes}");
        };
        check("GET / HTTP/1.1\r\nHost: x\r\n", RequestError::NoEnd);
        check("GET / HTTP/1.1\r\nA: x\r\n\r\n", RequestError::NoHost);
        check(
            "G\u{1}T / HTTP/1.1\r\nHost: x\r\n\r\n",
            RequestError::NotHttp(httparse::Error::Token),
        );
        check(
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            RequestError::BadPart("host"),
        );
        check(
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            RequestError::Chunked,
        );
    }
}
