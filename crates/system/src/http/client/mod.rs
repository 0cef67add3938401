//! A small HTTP client for readiness checks, functional checks and probes. The load does not use it.
//!
//! It speaks HTTP/1.1, and HTTP/2 with a server that speaks nothing else: over TLS if no protocol of HTTP/1.1 can be agreed on, without TLS
//! if the first answer is none of HTTP/1.1.

mod version;

use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use hyper::{self, body::Incoming, header, http::uri::Scheme};
use tokio::{net::TcpStream, task::yield_now, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::ClientConfig};
use waggle_load::{HandshakeFailure, Tls};
use waggle_study::Authorization;

use self::version::{Open, Version};
use crate::{failure_kind::failure_kind, http::peer::Peer};

/// Timeout of a connect.
const CONNECT_AT_MOST: Duration = Duration::from_secs(2);
/// Timeout between two parts of an answer.
const SILENCE_AT_MOST: Duration = Duration::from_secs(10);
/// Limit on the size of one answer.
pub const ANSWER_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The protocol of HTTP/2 in ALPN (RFC 9113, section 3.1).
const ALPN_HTTP2: &[u8] = b"h2";

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub headers: &'a [(String, String)],
    pub body: &'a str,
}

impl<'a> Request<'a> {
    pub fn get(path: &'a str) -> Self {
        Self {
            method: "GET",
            path,
            headers: &[],
            body: "",
        }
    }
}

/// Why there is no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect to {address}: {problem}")]
    Connect {
        address: SocketAddr,
        problem: String,
    },
    #[error("no TLS connection to {address}: {problem}")]
    Handshake {
        address: SocketAddr,
        problem: String,
    },
    #[error("\"{path}\" cannot be requested: {problem}")]
    Request { path: String, problem: String },
    #[error("{address} did not answer with HTTP: {problem}")]
    Answer {
        address: SocketAddr,
        problem: String,
    },
    #[error("{address} was silent for {} s", SILENCE_AT_MOST.as_secs())]
    Silent { address: SocketAddr },
    #[error("{path} was answered with status {status}")]
    Status { path: String, status: u16 },
    #[error("the answer of {address} is longer than {ANSWER_MAX_BYTES} bytes")]
    TooLong { address: SocketAddr },
}

/// Opens connections: over the network, or in a fake.
pub trait HttpConnector {
    type Connection: Connection;
    /// A connection to one port. It is opened at the first request, and again after an error.
    fn connection(&self, peer: &Peer) -> Self::Connection;
}

/// One keep-alive connection to one address.
#[expect(
    async_fn_in_trait,
    reason = "the futures stay on the thread of their trial: none has to be Send"
)]
pub trait Connection {
    /// Sends a request, passes on the chunks of the body as they arrive, and returns the status.
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError>;
}

/// The network.
#[derive(Debug, Clone, Copy)]
pub struct Network;

impl HttpConnector for Network {
    type Connection = HttpConnection;

    fn connection(&self, peer: &Peer) -> HttpConnection {
        HttpConnection {
            address: peer.address,
            tls: peer.tls.clone(),
            authorization: peer.authorization.clone(),
            version: Version::Http1,
            open: None,
        }
    }
}

/// A connection that opens itself.
#[derive(Debug)]
pub struct HttpConnection {
    address: SocketAddr,
    tls: Option<Tls>,
    authorization: Option<Authorization>,
    /// What the server spoke last.
    version: Version,
    open: Option<Open>,
}

impl Connection for HttpConnection {
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError> {
        let encoded = self.encode(request)?;
        let (status, mut answer) = match self.open.take() {
            Some(open) if open.is_ready() => {
                let answered = self.request(open, encoded).await;
                answered.map_err(|failed| failed.error)?
            }
            _ => Box::pin(self.first_request(encoded)).await?,
        };
        self.version = answer.open.version();
        self.read_whole(&mut answer, chunk).await?;
        // A connection is used again only if its answer was complete.
        if timeout(SILENCE_AT_MOST, answer.open.ready())
            .await
            .is_ok_and(|ready| ready.is_ok())
        {
            self.open = Some(answer.open);
        }
        Ok(status)
    }
}

/// An answer that is read as it comes, on a connection of its own.
#[derive(Debug)]
pub struct HttpStream {
    address: SocketAddr,
    open: Open,
    body: Incoming,
}

impl HttpStream {
    /// The next bytes, however long that takes; `None` at the end. A wait that is given up loses nothing.
    pub async fn read(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame.map_err(|problem| connection_error(self.address, &problem))?;
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }

    /// The next bytes if they have come; `None`: nothing had come when this was called.
    pub async fn read_ready(&mut self) -> Option<Result<Option<Bytes>, HttpError>> {
        // In the first pause the runtime asks the socket whether bytes have come, in the second one the connection's task reads
        // them.
        for _ in 0..2 {
            if let Some(read) = self.read().now_or_never() {
                return Some(read);
            }
            yield_now().await;
        }
        self.read().now_or_never()
    }
}

/// Why a request has no answer, and whether that is because the server does not speak HTTP/1.1.
struct Unanswered {
    error: HttpError,
    is_no_http1: bool,
}

impl From<HttpError> for Unanswered {
    fn from(error: HttpError) -> Self {
        Self {
            error,
            is_no_http1: false,
        }
    }
}

impl HttpConnection {
    /// Sends a request on a new connection and returns the status, and the answer to be read from there.
    pub async fn stream(&self, request: &Request<'_>) -> Result<(u16, HttpStream), HttpError> {
        let encoded = self.encode(request)?;
        Box::pin(self.first_request(encoded)).await
    }

    /// Sends a request on a new connection. A server without TLS that does not answer in HTTP/1.1 is asked in HTTP/2.
    ///
    /// Its future is large, as it has those of two attempts: callers keep it on the heap, because they lie deep in the runner's stack.
    async fn first_request(
        &self,
        encoded: hyper::Request<Full<Bytes>>,
    ) -> Result<(u16, HttpStream), HttpError> {
        let open = self.connect(self.version).await?;
        let may_be_http2 = self.tls.is_none() && open.version() == Version::Http1;
        let failed = match self.request(open, encoded.clone()).await {
            Err(failed) if may_be_http2 && failed.is_no_http1 => failed,
            answered => return answered.map_err(|failed| failed.error),
        };
        let open = self.connect(Version::Http2).await?;
        let answered = self.request(open, encoded).await;
        answered.map_err(|_| failed.error)
    }

    /// Sends a request and waits for the head of its answer.
    async fn request(
        &self,
        mut open: Open,
        encoded: hyper::Request<Full<Bytes>>,
    ) -> Result<(u16, HttpStream), Unanswered> {
        let answer = timeout(SILENCE_AT_MOST, open.request(encoded))
            .await
            .map_err(|_| self.silent())?
            .map_err(|problem| Unanswered {
                error: connection_error(self.address, &problem),
                is_no_http1: problem.is_parse(),
            })?;
        let status = answer.status().as_u16();
        let stream = HttpStream {
            address: self.address,
            open,
            body: answer.into_body(),
        };
        Ok((status, stream))
    }

    fn silent(&self) -> HttpError {
        HttpError::Silent {
            address: self.address,
        }
    }

    fn encode(&self, request: &Request<'_>) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
        let mut encoded = hyper::Request::builder()
            .method(request.method)
            .uri(request.path);
        let says = |header: header::HeaderName| {
            let mut names = request.headers.iter();
            names.any(|(name, _)| header.as_str().eq_ignore_ascii_case(name))
        };
        if !says(header::HOST) {
            encoded = encoded.header(header::HOST, self.address.to_string());
        }
        let says_who = says(header::AUTHORIZATION);
        if let Some(identity) = self.authorization.as_ref().filter(|_| !says_who) {
            encoded = encoded.header(header::AUTHORIZATION, &identity.value);
        }
        for (name, value) in request.headers {
            encoded = encoded.header(name, value);
        }
        encoded
            .body(Full::new(Bytes::copy_from_slice(request.body.as_bytes())))
            .map_err(|problem| HttpError::Request {
                path: request.path.to_owned(),
                problem: problem.to_string(),
            })
    }

    /// A new connection. Over TLS it may speak another version than the one that is asked for, if the server agrees to no other.
    async fn connect(&self, version: Version) -> Result<Open, HttpError> {
        let started = match &self.tls {
            None => Open::start(version, Scheme::HTTP, self.connect_socket().await?).await,
            Some(tls) => {
                let (version, stream) = Box::pin(self.encrypt(tls, version)).await?;
                Open::start(version, Scheme::HTTPS, stream).await
            }
        };
        started.map_err(|problem| connection_error(self.address, &problem))
    }

    async fn connect_socket(&self) -> Result<TcpStream, HttpError> {
        let refused = |problem: String| HttpError::Connect {
            address: self.address,
            problem,
        };
        let stream = timeout(CONNECT_AT_MOST, TcpStream::connect(self.address))
            .await
            .map_err(|_| refused(format!("no answer within {} s", CONNECT_AT_MOST.as_secs())))?
            .map_err(|problem| refused(problem.to_string()))?;
        stream
            .set_nodelay(true)
            .map_err(|problem| refused(problem.to_string()))?;
        Ok(stream)
    }

    /// TLS with what was agreed on: HTTP/1.1 is asked for first, unless the server is known to speak HTTP/2 alone.
    async fn encrypt(
        &self,
        tls: &Tls,
        version: Version,
    ) -> Result<(Version, TlsStream<TcpStream>), HttpError> {
        let mut config = tls.http1_config();
        if version == Version::Http1 {
            match self.shake_hands(tls, Arc::clone(&config)).await {
                Err(failed) if failed.is_no_http1 => {}
                agreed => return Ok((version, agreed.map_err(|failed| failed.error)?)),
            }
        }
        Arc::make_mut(&mut config).alpn_protocols = vec![ALPN_HTTP2.to_vec()];
        let agreed = self.shake_hands(tls, config).await;
        Ok((Version::Http2, agreed.map_err(|failed| failed.error)?))
    }

    async fn shake_hands(
        &self,
        tls: &Tls,
        config: Arc<ClientConfig>,
    ) -> Result<TlsStream<TcpStream>, Unanswered> {
        let failed = |problem: String| HttpError::Handshake {
            address: self.address,
            problem,
        };
        let stream = self.connect_socket().await?;
        let handshake = TlsConnector::from(config).connect(tls.server_name().clone(), stream);
        timeout(CONNECT_AT_MOST, handshake)
            .await
            .map_err(|_| failed(format!("no answer within {} s", CONNECT_AT_MOST.as_secs())))?
            .map_err(|problem| self.refused_handshake(&problem))
    }

    fn refused_handshake(&self, problem: &io::Error) -> Unanswered {
        let failure = HandshakeFailure::of_io(problem);
        Unanswered {
            error: HttpError::Handshake {
                address: self.address,
                problem: failure.map_or_else(|| problem.to_string(), handshake_problem),
            },
            is_no_http1: failure == Some(HandshakeFailure::NoProtocol),
        }
    }

    async fn read_whole(
        &self,
        answer: &mut HttpStream,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<(), HttpError> {
        let mut length = 0;
        loop {
            let read = timeout(SILENCE_AT_MOST, answer.read()).await;
            let Some(bytes) = read.map_err(|_| self.silent())?? else {
                return Ok(());
            };
            length += bytes.len() as u64;
            if length > ANSWER_MAX_BYTES {
                return Err(HttpError::TooLong {
                    address: self.address,
                });
            }
            chunk(&bytes);
        }
    }
}

fn connection_error(address: SocketAddr, problem: &hyper::Error) -> HttpError {
    let cause = problem.source().map(|cause| format!(": {cause}"));
    HttpError::Answer {
        address,
        problem: format!("{problem}{}", cause.unwrap_or_default()),
    }
}

/// Why a request failed, and what helps if something does.
pub fn failure_in_words(failure: waggle_load::Failure) -> String {
    match failure {
        waggle_load::Failure::Handshake(failure) => handshake_problem(failure),
        other => failure_kind(other).in_words(),
    }
}

/// Why a handshake failed, and what helps.
fn handshake_problem(failure: HandshakeFailure) -> String {
    let kind = failure_kind(waggle_load::Failure::Handshake(failure));
    let remedy = match failure {
        HandshakeFailure::UnknownIssuer => "name the authority that signed it (ca)",
        HandshakeFailure::Expired => "it needs a new certificate",
        HandshakeFailure::NotYetValid => "its certificate is valid later, or a clock is wrong",
        HandshakeFailure::CaCertificate => {
            "its certificate is that of an authority (CA:TRUE); a server needs one with CA:FALSE"
        }
        HandshakeFailure::Algorithm => {
            "its certificate needs an RSA key from 2048 bits, ECDSA on P-256 or P-384, or Ed25519"
        }
        HandshakeFailure::ClientCertificate => "it wants a certificate from its clients (client)",
        HandshakeFailure::NoVersion => "TLS 1.2 or 1.3 is needed",
        HandshakeFailure::NoCipher => {
            "no cipher suite, key exchange or signature algorithm in common; or it wants a certificate from its clients (client)"
        }
        HandshakeFailure::WrongName => "name the host that it is for (server_name)",
        HandshakeFailure::Refused => "it may ask for a certificate (client)",
        HandshakeFailure::Malformed => "the port may not speak TLS (http:// instead of https://)",
        HandshakeFailure::Certificate
        | HandshakeFailure::NoProtocol
        | HandshakeFailure::Cut
        | HandshakeFailure::TimedOut => return kind.in_words(),
    };
    format!("{}; {remedy}", kind.in_words())
}

#[cfg(test)]
mod tests;
