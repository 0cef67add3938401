//! Writes to InfluxDB 2 over one connection that is kept: a body out, an answer in. What an answer means is `verdict`'s.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::SinkError;
use super::settings::{SinkSettings, TOKEN_VARIABLE};

/// The part of an answer that is looked at.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
/// Largest file that is taken for a token.
const TOKEN_MAX_BYTES: usize = 16 * 1024;

/// Where writes go.
#[derive(Debug)]
pub(super) struct Influxdb {
    host: String,
    port: u16,
    /// As in the URL.
    authority: HeaderValue,
    /// Path and query of the write call.
    target: Uri,
    token: Token,
    connect_timeout: Duration,
    write_timeout: Duration,
}

/// An answer to a write.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
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
    #[error("writing to {host}:{port}: {source}")]
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

impl Influxdb {
    pub(super) fn new(settings: &SinkSettings, token: Option<String>) -> Result<Self, SinkError> {
        let wrong = |expected: &str| {
            SinkError::Setting(format!(
                "--influxdb-url: expected {expected}, found {:?}",
                settings.influxdb_url
            ))
        };
        let url: Uri = settings
            .influxdb_url
            .parse()
            .map_err(|_| wrong("a URL like http://influxdb:8086"))?;
        if url.scheme_str() != Some("http") {
            return Err(wrong("a URL that begins with http://"));
        }
        let authority = url.authority().ok_or_else(|| wrong("a host"))?;
        if authority.as_str().contains('@') || url.query().is_some() {
            return Err(wrong("a URL without user and query"));
        }
        let target = format!(
            "{}/api/v2/write?org={}&bucket={}&precision=ns",
            url.path().trim_end_matches('/'),
            percent_encoded(&settings.org),
            percent_encoded(&settings.bucket)
        );
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("a host"))?,
            target: target.parse().map_err(|_| wrong("a path"))?,
            token: Token::new(settings.token_file.clone(), token)?,
            connect_timeout: settings.connect_timeout,
            write_timeout: settings.write_timeout,
        })
    }

    /// Takes the token from its file again, if it comes from one.
    pub(super) fn renew_token(&self) -> Result<(), SinkError> {
        self.token.renew()
    }

    fn request(&self, body: &Body) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.bytes.clone()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.authority.clone());
        headers.insert(header::AUTHORIZATION, self.token.header());
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        if body.is_gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        request
    }

    async fn connect(&self) -> Result<Open, NoAnswer> {
        let (host, port) = (self.host.clone(), self.port);
        let connecting = TcpStream::connect((&*self.host, self.port));
        let stream = match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) => return Err(NoAnswer::Connect { host, port, source }),
            Err(_) => {
                let within = self.connect_timeout;
                return Err(NoAnswer::ConnectTimeout { host, port, within });
            }
        };
        // A write goes out whole: waiting to fill a segment would only delay its end. Where that cannot be set it is slower.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|source| NoAnswer::Http { host, port, source })?;
        // What ends the connection shows where it is written to.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Open {
            sender,
            driver,
            is_over: false,
        })
    }

    async fn exchange(&self, open: &mut Open, body: &Body) -> Result<Answered, NoAnswer> {
        let failed = |source| NoAnswer::Http {
            host: self.host.clone(),
            port: self.port,
            source,
        };
        let asking = async {
            open.sender.ready().await.map_err(failed)?;
            let response = open
                .sender
                .send_request(self.request(body))
                .await
                .map_err(failed)?;
            let status = response.status().as_u16();
            let retry_after = response.headers().get(header::RETRY_AFTER);
            let retry_after = retry_after
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned);
            let (body, is_whole) = read(response.into_body()).await.map_err(failed)?;
            let answered = Answered {
                status,
                retry_after,
                body,
            };
            Ok((answered, is_whole))
        };
        match tokio::time::timeout(self.write_timeout, asking).await {
            Ok(Ok((answered, is_whole))) => {
                open.is_over |= !is_whole;
                Ok(answered)
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(NoAnswer::Timeout {
                host: self.host.clone(),
                port: self.port,
                within: self.write_timeout,
            }),
        }
    }
}

/// The answer's body as far as it is looked at, and whether that is all of it.
async fn read(mut incoming: Incoming) -> Result<(Vec<u8>, bool), hyper::Error> {
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame?;
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        let room = ANSWER_MAX_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// What is written.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) is_gzip: bool,
}

/// A connection that is opened when it is needed.
#[derive(Debug, Default)]
pub(super) struct Connection {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    is_over: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Writes and waits for the answer.
    pub(super) async fn write(&mut self, to: &Influxdb, body: &Body) -> Result<Answered, NoAnswer> {
        // One that was kept may have been closed just now, which says nothing about the database: writing again does no harm.
        if let Some(mut open) = self.open.take().filter(|open| !open.sender.is_closed()) {
            match to.exchange(&mut open, body).await {
                Err(NoAnswer::Http { .. }) => {}
                answered => return self.keep(open, answered),
            }
        }
        let mut open = to.connect().await?;
        let answered = to.exchange(&mut open, body).await;
        self.keep(open, answered)
    }

    fn keep(
        &mut self,
        open: Open,
        answered: Result<Answered, NoAnswer>,
    ) -> Result<Answered, NoAnswer> {
        if answered.is_ok() && !open.is_over {
            self.open = Some(open);
        }
        answered
    }
}

/// What lets us write; in no message and no log.
struct Token {
    file: Option<PathBuf>,
    header: Mutex<HeaderValue>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// That of the file, or else the one given.
    fn new(file: Option<PathBuf>, given: Option<String>) -> Result<Self, SinkError> {
        let header = match (&file, given) {
            (Some(file), _) => read_token(file)?,
            (None, Some(token)) => token_header(&token, TOKEN_VARIABLE)?,
            (None, None) => {
                return Err(SinkError::Setting(format!(
                    "expected a token for InfluxDB in --token-file or in the environment as {TOKEN_VARIABLE}, found none"
                )));
            }
        };
        Ok(Self {
            file,
            header: Mutex::new(header),
        })
    }

    fn renew(&self) -> Result<(), SinkError> {
        if let Some(file) = &self.file {
            let header = read_token(file)?;
            *self.header.lock().unwrap_or_else(PoisonError::into_inner) = header;
        }
        Ok(())
    }

    fn header(&self) -> HeaderValue {
        self.header
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn read_token(file: &PathBuf) -> Result<HeaderValue, SinkError> {
    use std::io::Read;
    let failed = |error: std::io::Error| {
        SinkError::Setting(format!("--token-file: reading {}: {error}", file.display()))
    };
    let mut text = String::new();
    std::fs::File::open(file)
        .and_then(|opened| {
            opened
                .take(TOKEN_MAX_BYTES as u64)
                .read_to_string(&mut text)
        })
        .map_err(failed)?;
    token_header(&text, &format!("--token-file {}", file.display()))
}

fn token_header(token: &str, place: &str) -> Result<HeaderValue, SinkError> {
    let token = token.trim();
    let value = HeaderValue::from_str(&format!("Token {token}"));
    match value {
        Ok(mut value) if !token.is_empty() => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => Err(SinkError::Setting(format!(
            "{place}: expected a token of printable characters"
        ))),
    }
}

/// The text as a value in a query (RFC 3986, 2.3).
fn percent_encoded(text: &str) -> String {
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

    #[test]
    fn what_stands_in_a_query_is_encoded() {
        assert_eq!(percent_encoded("a-Z_0.~"), "a-Z_0.~");
        assert_eq!(percent_encoded("my lab&x=1/ü"), "my%20lab%26x%3D1%2F%C3%BC");
    }

    #[test]
    fn a_token_is_kept_from_messages() {
        let token = Token::new(None, Some(" secret\n".into())).unwrap();
        assert_eq!(token.header(), "Token secret");
        assert!(token.header().is_sensitive());
        assert!(!format!("{token:?}").contains("secret"));
        let error = Token::new(None, Some("sec\u{1}ret".into())).unwrap_err();
        assert!(!error.to_string().contains("ret"), "{error}");
        assert!(Token::new(None, Some("  ".into())).is_err());
        assert!(Token::new(None, None).is_err());
    }

    #[test]
    fn a_token_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "one\n").unwrap();
        let token = Token::new(Some(file.clone()), Some("other".into())).unwrap();
        assert_eq!(token.header(), "Token one");
        std::fs::write(&file, "two\n").unwrap();
        token.renew().unwrap();
        assert_eq!(token.header(), "Token two");
        std::fs::remove_file(&file).unwrap();
        assert!(token.renew().unwrap_err().to_string().contains("token"));
    }
}
