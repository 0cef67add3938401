//! A small HTTP client for readiness checks, functional checks and probes. The load does not use it.

use std::{error::Error, net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use hyper::{
    self,
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::{JoinHandle, yield_now},
    time::timeout,
};
use tokio_rustls::TlsConnector;
use waggle_load::{HandshakeFailure, Tls};
use waggle_study::Authorization;

use crate::{failure_kind::failure_kind, http::peer::Peer};

/// Timeout of a connect.
const CONNECT_AT_MOST: Duration = Duration::from_secs(2);
/// Timeout between two parts of an answer.
const SILENCE_AT_MOST: Duration = Duration::from_secs(10);
/// Limit on the size of one answer.
pub const ANSWER_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that are read from the socket at once.
const READ_BUFFER_BYTES: usize = 256 * 1024;

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
            open: None,
        }
    }
}

/// An HTTP/1.1 connection that opens itself.
#[derive(Debug)]
pub struct HttpConnection {
    address: SocketAddr,
    tls: Option<Tls>,
    authorization: Option<Authorization>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    /// Task that drives the connection; aborted when the connection is dropped.
    mover: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.mover.abort();
    }
}

impl Connection for HttpConnection {
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError> {
        let encoded = self.encode(request)?;
        let open = match self.open.take() {
            Some(open) if open.sender.is_ready() => open,
            _ => self.connect().await?,
        };
        let (status, mut answer) = self.request(open, encoded).await?;
        self.read_whole(&mut answer, chunk).await?;
        // A connection is used again only if its answer was complete.
        if timeout(SILENCE_AT_MOST, answer.open.sender.ready())
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

impl HttpConnection {
    /// Sends a request on a new connection and returns the status, and the answer to be read from there.
    pub async fn stream(&self, request: &Request<'_>) -> Result<(u16, HttpStream), HttpError> {
        let encoded = self.encode(request)?;
        let open = self.connect().await?;
        self.request(open, encoded).await
    }

    /// Sends a request and waits for the head of its answer.
    async fn request(
        &self,
        mut open: Open,
        encoded: hyper::Request<Full<Bytes>>,
    ) -> Result<(u16, HttpStream), HttpError> {
        let answer = timeout(SILENCE_AT_MOST, open.sender.send_request(encoded))
            .await
            .map_err(|_| self.silent())?
            .map_err(|problem| connection_error(self.address, &problem))?;
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

    async fn connect(&self) -> Result<Open, HttpError> {
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
        match &self.tls {
            None => self.start_http(stream).await,
            Some(tls) => self.start_http(self.encrypt(tls, stream).await?).await,
        }
    }

    async fn encrypt(
        &self,
        tls: &Tls,
        stream: TcpStream,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static, HttpError> {
        let connector = TlsConnector::from(tls.http1_config());
        let handshake = connector.connect(tls.server_name().clone(), stream);
        let failed = |problem: String| HttpError::Handshake {
            address: self.address,
            problem,
        };
        timeout(CONNECT_AT_MOST, handshake)
            .await
            .map_err(|_| failed(format!("no answer within {} s", CONNECT_AT_MOST.as_secs())))?
            .map_err(|problem| {
                failed(match HandshakeFailure::of_io(&problem) {
                    Some(failure) => handshake_problem(failure),
                    None => problem.to_string(),
                })
            })
    }

    async fn start_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Open, HttpError> {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(READ_BUFFER_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|problem| connection_error(self.address, &problem))?;
        let mover = tokio::spawn(async move {
            // The error is returned to the caller that waits for the answer.
            connection.await.ok();
        });
        Ok(Open { sender, mover })
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
