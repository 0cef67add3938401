//! The version of HTTP of a connection: HTTP/1.1, or HTTP/2 with a server that speaks nothing else.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Error, Response, Uri,
    body::Incoming,
    client::conn::{http1, http2},
    header,
    http::uri::Scheme,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};

/// Bytes that are read from the socket at once.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// A version of HTTP that the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Open {
    sender: Sender,
    /// Task that drives the connection; aborted when the connection is dropped.
    mover: JoinHandle<()>,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>, Scheme),
}

impl Drop for Open {
    fn drop(&mut self) {
        self.mover.abort();
    }
}

impl Open {
    /// Starts HTTP on a connection whose TLS is established, if it has any.
    pub(super) async fn start(
        version: Version,
        scheme: Scheme,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Error> {
        let stream = TokioIo::new(stream);
        // The error of a connection is returned to the caller that waits for the answer.
        Ok(match version {
            Version::Http1 => {
                let mut builder = http1::Builder::new();
                builder.max_buf_size(READ_BUFFER_BYTES);
                let (sender, connection) = builder.handshake(stream).await?;
                Self {
                    sender: Sender::Http1(sender),
                    mover: tokio::spawn(async { drop(connection.await) }),
                }
            }
            Version::Http2 => {
                let builder = http2::Builder::new(TokioExecutor::new());
                let (sender, connection) = builder.handshake(stream).await?;
                Self {
                    sender: Sender::Http2(sender, scheme),
                    mover: tokio::spawn(async { drop(connection.await) }),
                }
            }
        })
    }

    pub(super) fn version(&self) -> Version {
        match &self.sender {
            Sender::Http1(_) => Version::Http1,
            Sender::Http2(..) => Version::Http2,
        }
    }

    /// Whether a request can be sent at once.
    pub(super) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender, _) => sender.is_ready(),
        }
    }

    /// Waits until another request can be sent.
    pub(super) async fn ready(&mut self) -> Result<(), Error> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender, _) => sender.ready().await,
        }
    }

    /// Sends a request, which is written for HTTP/1.1, and waits for the head of its answer.
    pub(super) async fn request(
        &mut self,
        request: hyper::Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Error> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.send_request(request).await,
            Sender::Http2(sender, scheme) => {
                sender
                    .send_request(for_http2(request, scheme.clone()))
                    .await
            }
        }
    }
}

/// The request with its host in the URI, from which `:scheme` and `:authority` come (RFC 9113, section 8.3.1).
fn for_http2(
    mut request: hyper::Request<Full<Bytes>>,
    scheme: Scheme,
) -> hyper::Request<Full<Bytes>> {
    let host = request.headers_mut().remove(header::HOST);
    let host = host.as_ref().and_then(|host| host.to_str().ok());
    let mut parts = request.uri().clone().into_parts();
    parts.authority = host.and_then(|host| host.parse().ok());
    parts.scheme = parts.authority.is_some().then_some(scheme);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}
