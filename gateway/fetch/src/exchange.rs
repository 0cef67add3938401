//! One request and its answer, on a connection of its own.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use url::Position;

use crate::{
    authorities::connector,
    location::{Location, LocationError},
};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer.
const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// What is asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// GET; the media types that are understood.
    Read { accept: &'static str },
    /// POST of a form, answered in JSON.
    Form {
        authorization: HeaderValue,
        form: String,
    },
}

/// A complete answer.
#[derive(Clone)]
pub struct Answer {
    pub status: StatusCode,
    /// At most 1 MiB.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("no answer in {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("connecting: {0}")]
    Connect(std::io::Error),
    #[error("TLS: {0}")]
    Tls(std::io::Error),
    #[error(transparent)]
    Location(#[from] LocationError),
    #[error("expected a host in the URL: {0}")]
    Name(#[from] rustls::pki_types::InvalidDnsNameError),
    #[error("HTTP: {0}")]
    Http(#[from] hyper::Error),
    #[error("HTTP: {0}")]
    Request(#[from] http::Error),
    #[error("HTTP: the answer breaks off or has more than 1 MiB")]
    Body,
}

impl Location {
    /// Asks, and waits for the whole answer for at most ten seconds.
    ///
    /// # Errors
    /// If there is none. An answer of any status is one.
    pub async fn ask(&self, ask: &Ask) -> Result<Answer, FetchError> {
        match timeout(TIMEOUT, self.connect_and_ask(ask)).await {
            Ok(answer) => answer,
            Err(_) => Err(FetchError::Timeout(TIMEOUT)),
        }
    }

    async fn connect_and_ask(&self, ask: &Ask) -> Result<Answer, FetchError> {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or_default();
        let stream = TcpStream::connect((address, port)).await;
        let stream = stream.map_err(FetchError::Connect)?;
        if self.url.scheme() != "https" {
            return self.exchange(stream, ask).await;
        }
        let name = ServerName::try_from(address.to_owned())?;
        let connector = connector(self.authorities.as_deref())?;
        let stream = connector.connect(name, stream).await;
        self.exchange(stream.map_err(FetchError::Tls)?, ask).await
    }

    async fn exchange<S>(&self, stream: S, ask: &Ask) -> Result<Answer, FetchError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let request = self.request(ask)?;
        let exchange = async {
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX_BYTES).collect();
            let body = body.await.map_err(|_| FetchError::Body)?;
            Ok(Answer {
                status,
                body: body.to_bytes(),
            })
        };
        tokio::pin!(exchange);
        tokio::select! {
            answer = &mut exchange => answer,
            // What the connection still has of the answer is with the body.
            _ = connection => exchange.await,
        }
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, http::Error> {
        let path = &self.url[Position::BeforePath..Position::AfterQuery];
        let host = &self.url[Position::BeforeHost..Position::AfterPort];
        let request = Request::builder()
            .uri(path)
            .header(header::HOST, host)
            .header(header::CONNECTION, "close");
        match ask {
            Ask::Read { accept } => request
                .header(header::ACCEPT, *accept)
                .body(Full::default()),
            Ask::Form {
                authorization,
                form,
            } => request
                .method(http::Method::POST)
                .header(header::ACCEPT, "application/json")
                .header(header::AUTHORIZATION, authorization)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(Full::from(form.clone())),
        }
    }
}
