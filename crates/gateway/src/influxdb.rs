//! What the sink and queries both know of an InfluxDB 2: its address, the token, a connection.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// The environment variable with the token, where no file is named.
pub const TOKEN_VARIABLE: &str = "INFLUX_TOKEN";

/// Largest file that is taken for a token.
const TOKEN_MAX_BYTES: usize = 16 * 1024;

/// Where it is.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// As in the URL.
    pub(crate) authority: HeaderValue,
    /// Before the path of every call; no slash at its end.
    pub(crate) path: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("connecting to {host}:{port}: {source}")]
    Connect {
        host: String,
        port: u16,
        source: std::io::Error,
    },
    #[error("no connection to {host}:{port} within {within:?}")]
    ConnectTimeout {
        host: String,
        port: u16,
        within: Duration,
    },
    #[error("talking to {host}:{port}: {source}")]
    Http {
        host: String,
        port: u16,
        source: hyper::Error,
    },
    #[error("no answer from {host}:{port} within {within:?}")]
    Timeout {
        host: String,
        port: u16,
        within: Duration,
    },
}

impl Address {
    /// That of a URL, or what is wrong with the URL.
    pub(crate) fn of(url: &str) -> Result<Self, String> {
        let wrong = |expected: &str| format!("--influxdb-url: expected {expected}, found {url:?}");
        let parsed: Uri = url
            .parse()
            .map_err(|_| wrong("a URL like http://influxdb:8086"))?;
        if parsed.scheme_str() != Some("http") {
            return Err(wrong("a URL that begins with http://"));
        }
        let authority = parsed.authority().ok_or_else(|| wrong("a host"))?;
        if authority.as_str().contains('@') || parsed.query().is_some() {
            return Err(wrong("a URL without user and query"));
        }
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("a host"))?,
            path: parsed.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The target of a call: its path and query, encoded already.
    pub(crate) fn target(&self, call: &str) -> Result<Uri, String> {
        let target = format!("{}{call}", self.path);
        target
            .parse()
            .map_err(|_| format!("--influxdb-url: expected a path, found {:?}", self.path))
    }

    /// A new connection.
    pub(crate) async fn connect(&self, within: Duration) -> Result<Open, NoAnswer> {
        let (host, port) = (self.host.clone(), self.port);
        let connecting = TcpStream::connect((&*self.host, self.port));
        let stream = match tokio::time::timeout(within, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) => return Err(NoAnswer::Connect { host, port, source }),
            Err(_) => return Err(NoAnswer::ConnectTimeout { host, port, within }),
        };
        // What is sent goes out whole: waiting to fill a segment would only delay its end. Where that cannot be set it is slower.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|source| self.failed(source))?;
        // What ends the connection shows where it is written to.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Open { sender, driver })
    }

    pub(crate) fn failed(&self, source: hyper::Error) -> NoAnswer {
        NoAnswer::Http {
            host: self.host.clone(),
            port: self.port,
            source,
        }
    }

    pub(crate) fn late(&self, within: Duration) -> NoAnswer {
        NoAnswer::Timeout {
            host: self.host.clone(),
            port: self.port,
            within,
        }
    }
}

/// A connection, closed when dropped.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// What lets us in; in no message and no log.
pub(crate) struct Token {
    /// The flag that names the file.
    flag: &'static str,
    file: Option<PathBuf>,
    header: Mutex<HeaderValue>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// That of the file, or else the one given; or what is wrong.
    pub(crate) fn new(
        flag: &'static str,
        file: Option<PathBuf>,
        given: Option<String>,
    ) -> Result<Self, String> {
        let header = match (&file, given) {
            (Some(file), _) => read_token(flag, file)?,
            (None, Some(token)) => token_header(&token, TOKEN_VARIABLE)?,
            (None, None) => {
                return Err(format!(
                    "expected a token for InfluxDB in {flag} or in the environment as {TOKEN_VARIABLE}, found none"
                ));
            }
        };
        Ok(Self {
            flag,
            file,
            header: Mutex::new(header),
        })
    }

    /// Takes the token from its file again, if it comes from one.
    pub(crate) fn renew(&self) -> Result<(), String> {
        if let Some(file) = &self.file {
            let header = read_token(self.flag, file)?;
            *self.header.lock().unwrap_or_else(PoisonError::into_inner) = header;
        }
        Ok(())
    }

    /// For the field `Authorization`.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn read_token(flag: &str, file: &PathBuf) -> Result<HeaderValue, String> {
    use std::io::Read;
    let failed = |error: std::io::Error| format!("{flag}: reading {}: {error}", file.display());
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|opened| {
            opened
                .take(TOKEN_MAX_BYTES as u64)
                .read_to_string(&mut text)
        })
        .map_err(failed)?;
    token_header(&text, &format!("{flag} {}", file.display()))
}

fn token_header(token: &str, place: &str) -> Result<HeaderValue, String> {
    let token = token.trim();
    let value = HeaderValue::from_str(&format!("Token {token}"));
    match value {
        Ok(mut value) if !token.is_empty() => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => Err(format!("{place}: expected a token of printable characters")),
    }
}

/// The text as a value in a query (RFC 3986, 2.3).
pub(crate) fn percent_encoded(text: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: &str = "--token-file";

    #[test]
    fn what_stands_in_a_query_is_encoded() {
        assert_eq!(percent_encoded("a-Z_0.~"), "a-Z_0.~");
        assert_eq!(percent_encoded("my lab&x=1/ü"), "my%20lab%26x%3D1%2F%C3%BC");
    }

    #[test]
    fn an_address_is_that_of_a_url_without_secrets() {
        let address = Address::of("http://db:1/below/").unwrap();
        assert_eq!((&*address.host, address.port), ("db", 1));
        assert_eq!(address.target("/x?y").unwrap(), "/below/x?y");
        assert_eq!(Address::of("http://[::1]").unwrap().host, "::1");
        for wrong in [
            "db:1",
            "https://db",
            "http://a:b@db",
            "http://db?x",
            "http://",
        ] {
            let problem = Address::of(wrong).unwrap_err();
            assert!(problem.starts_with("--influxdb-url: expected"), "{problem}");
        }
    }

    #[test]
    fn a_token_is_kept_from_messages() {
        let token = Token::new(FLAG, None, Some(" secret\n".into())).unwrap();
        assert_eq!(token.header(), "Token secret");
        assert!(token.header().is_sensitive());
        assert!(!format!("{token:?}").contains("secret"));
        let error = Token::new(FLAG, None, Some("sec\u{1}ret".into())).unwrap_err();
        assert!(!error.contains("ret"), "{error}");
        assert!(Token::new(FLAG, None, Some("  ".into())).is_err());
        assert!(Token::new(FLAG, None, None).is_err());
    }

    #[test]
    fn a_token_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "one\n").unwrap();
        let token = Token::new(FLAG, Some(file.clone()), Some("other".into())).unwrap();
        assert_eq!(token.header(), "Token one");
        std::fs::write(&file, "two\n").unwrap();
        token.renew().unwrap();
        assert_eq!(token.header(), "Token two");
        std::fs::remove_file(&file).unwrap();
        assert!(token.renew().unwrap_err().contains("token"));
    }
}
