//! A small HTTP client for readiness checks, functional checks and probes. The load does not use it.

use std::{error::Error, net::SocketAddr, time::Duration};

use bytes::Bytes;
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
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use waggle_load::{HandshakeFailure, Tls};

use crate::{counts::failure_kind, peer::Peer};

/// Timeout of a connect.
const CONNECT_AT_MOST: Duration = Duration::from_secs(2);
/// Timeout between two parts of an answer.
const SILENCE_AT_MOST: Duration = Duration::from_secs(10);
/// Limit on the size of one answer.
pub(crate) const ANSWER_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that are read from the socket at once.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a str,
}

impl<'a> Request<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
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
pub(crate) enum HttpError {
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
pub(crate) trait HttpConnector {
    type Connection: Connection;
    /// A connection to one port. It is opened at the first request, and again after an error.
    fn connection(&self, peer: &Peer) -> Self::Connection;
}

/// One keep-alive connection to one address.
pub(crate) trait Connection {
    /// Sends a request, passes on the chunks of the body as they arrive, and returns the status.
    async fn send(
        &mut self,
        request: &Request<'_>,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<u16, HttpError>;
}

/// The network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network;

impl HttpConnector for Network {
    type Connection = HttpConnection;

    fn connection(&self, peer: &Peer) -> HttpConnection {
        HttpConnection {
            address: peer.address,
            tls: peer.tls.clone(),
            open: None,
        }
    }
}

/// An HTTP/1.1 connection that opens itself.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    address: SocketAddr,
    tls: Option<Tls>,
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
        let mut open = match self.open.take() {
            Some(open) if open.sender.is_ready() => open,
            _ => self.connect().await?,
        };
        let answer = timeout(SILENCE_AT_MOST, open.sender.send_request(encoded))
            .await
            .map_err(|_| HttpError::Silent {
                address: self.address,
            })?
            .map_err(|problem| self.connection_error(&problem))?;
        let status = answer.status().as_u16();
        self.body(answer.into_body(), chunk).await?;
        // A connection is used again only if its answer was complete.
        if timeout(SILENCE_AT_MOST, open.sender.ready())
            .await
            .is_ok_and(|ready| ready.is_ok())
        {
            self.open = Some(open);
        }
        Ok(status)
    }
}

impl HttpConnection {
    fn encode(&self, request: &Request<'_>) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
        let mut encoded = hyper::Request::builder()
            .method(request.method)
            .uri(request.path)
            .header(header::HOST, self.address.to_string());
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
            .map_err(|problem| self.connection_error(&problem))?;
        let mover = tokio::spawn(async move {
            // The error is returned to the caller that waits for the answer.
            connection.await.ok();
        });
        Ok(Open { sender, mover })
    }

    async fn body(
        &self,
        mut body: Incoming,
        chunk: &mut dyn FnMut(&[u8]),
    ) -> Result<(), HttpError> {
        let mut length = 0;
        loop {
            let frame =
                timeout(SILENCE_AT_MOST, body.frame())
                    .await
                    .map_err(|_| HttpError::Silent {
                        address: self.address,
                    })?;
            let Some(frame) = frame else { return Ok(()) };
            let Ok(bytes) = frame
                .map_err(|problem| self.connection_error(&problem))?
                .into_data()
            else {
                continue;
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

    fn connection_error(&self, problem: &hyper::Error) -> HttpError {
        let cause = problem.source().map(|cause| format!(": {cause}"));
        HttpError::Answer {
            address: self.address,
            problem: format!("{problem}{}", cause.unwrap_or_default()),
        }
    }
}

/// Why a handshake failed, and what helps.
fn handshake_problem(failure: HandshakeFailure) -> String {
    let kind = failure_kind(waggle_load::Failure::Handshake(failure));
    let remedy = match failure {
        HandshakeFailure::UnknownIssuer => "name the authority that signed it (ca)",
        HandshakeFailure::Expired => "it needs a new certificate",
        HandshakeFailure::WrongName => "name the host that it is for (server_name)",
        HandshakeFailure::Refused => "it may ask for a certificate (client)",
        HandshakeFailure::Malformed => "does this port speak TLS?",
        HandshakeFailure::Certificate
        | HandshakeFailure::NoProtocol
        | HandshakeFailure::Cut
        | HandshakeFailure::TimedOut => return kind.to_string(),
    };
    format!("{kind}; {remedy}")
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use rustls::ServerConfig;
    use waggle_load::{Roots, Tls, TlsOptions};
    use waggle_testkit::{
        http::{Reply, Server, ok},
        tls::{Authority, ClientAuth},
    };

    use super::{Connection, HttpConnector, HttpError, Network, Peer, Request};

    /// Answers every request of every connection with the same bytes. Closes the connection after one answer if the bytes say so,
    /// or if they are fewer than announced.
    async fn server(answer: &'static [u8], connections: Arc<AtomicUsize>) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::Relaxed);
                while request(&mut stream).await {
                    stream.write_all(answer).await.unwrap();
                    if answer.ends_with(b"END") {
                        break;
                    }
                }
            }
        });
        address
    }

    /// Reads one request without a body; false at the end of the connection.
    async fn request(stream: &mut TcpStream) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return false,
            }
        }
        true
    }

    /// Sends two requests over one connection.
    async fn check(
        answer: &'static [u8],
        expected: Option<(u16, &str)>,
        expected_connections: usize,
    ) {
        let connections = Arc::new(AtomicUsize::new(0));
        let mut connection =
            Network.connection(&server(answer, Arc::clone(&connections)).await.into());
        for _ in 0..2 {
            let mut body = Vec::new();
            let status = connection
                .send(&Request::get("/"), &mut |chunk| {
                    body.extend_from_slice(chunk)
                })
                .await;
            match expected {
                Some((expected, text)) => {
                    assert_eq!(
                        (status.unwrap(), String::from_utf8(body).unwrap()),
                        (expected, text.to_owned())
                    );
                }
                None => assert!(
                    matches!(status, Err(HttpError::Answer { .. })),
                    "{status:?}"
                ),
            }
        }
        assert_eq!(connections.load(Ordering::Relaxed), expected_connections);
    }

    #[tokio::test]
    async fn answers_of_every_framing_are_read_and_connections_kept_where_they_can_be() {
        check(
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            Some((200, "abc")),
            1,
        )
        .await;
        check(b"HTTP/1.1 204 No Content\r\n\r\n", Some((204, "")), 1).await;
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        check(chunked, Some((200, "abc")), 1).await;
        check(
            b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\nTHE END",
            Some((503, "THE END")),
            2,
        )
        .await;
    }

    #[tokio::test]
    async fn broken_answers_are_errors_and_the_next_one_is_asked_on_a_new_connection() {
        check(
            b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nthe END",
            None,
            2,
        )
        .await;
        check(b"no HTTP\r\n\r\nEND", None, 2).await;
    }

    /// Sends a request to a server over TLS. The client trusts `trusted`, and presents a certificate of it if `is_known`.
    async fn send_encrypted(
        server: ServerConfig,
        trusted: &Authority,
        (name, is_known): (&str, bool),
    ) -> Result<u16, HttpError> {
        let server = Server::start_secure(server, |_| Reply::Answer(ok("yes")));
        let signed = trusted.sign("client", 2090);
        let tls = Tls::new(TlsOptions {
            server_name: name.to_owned(),
            roots: Roots::Pem(trusted.pem.clone().into_bytes()),
            client: is_known.then(|| (signed.certificate.into_bytes(), signed.key.into_bytes())),
            resumes: true,
        });
        let peer = Peer {
            address: server.address,
            tls: Some(tls.unwrap()),
        };
        let mut connection = Network.connection(&peer);
        connection.send(&Request::get("/"), &mut |_| {}).await
    }

    #[tokio::test]
    async fn ports_with_tls_are_read_and_failures_name_what_helps() {
        let (own, other) = (Authority::new("own"), Authority::new("other"));
        let with_client = || {
            let signed = own.sign("localhost", 2090);
            own.server_with(&signed, ClientAuth::Required)
        };
        let sent = send_encrypted(own.server(), &own, ("localhost", false)).await;
        assert_eq!(sent.unwrap(), 200);
        let sent = send_encrypted(with_client(), &own, ("localhost", true)).await;
        assert_eq!(sent.unwrap(), 200);
        let fails = async |server, trusted, client, expected: &str| {
            let problem = send_encrypted(server, trusted, client).await.unwrap_err();
            assert!(problem.to_string().contains(expected), "{problem}");
        };
        let localhost = ("localhost", false);
        fails(own.server(), &other, localhost, "(ca)").await;
        fails(own.server(), &own, ("api.test", false), "(server_name)").await;
        let expired = own.server_with(&own.sign("localhost", 2021), ClientAuth::None);
        fails(expired, &own, localhost, "a new certificate").await;
        // In TLS 1.3 the client's certificate is refused when the handshake is over for the client.
        fails(with_client(), &own, localhost, "CertificateRequired").await;
    }

    #[tokio::test]
    async fn a_refused_connection_is_reported_with_the_address() {
        let address = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let asked = Network
            .connection(&address.into())
            .send(&Request::get("/"), &mut |_| {})
            .await;
        assert!(
            matches!(asked, Err(HttpError::Connect { address: found, .. }) if found == address)
        );
        let asked = Network
            .connection(&address.into())
            .send(&Request::get("no path"), &mut |_| {})
            .await;
        assert!(matches!(asked, Err(HttpError::Request { .. })));
    }
}
