//! The keys of an issuer by HTTP: one GET, over TLS unless it is on this host, limited in time and size.

use std::{
    fmt::{self, Display},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::IssuerError;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer.
const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// A URL, and the authorities by which its certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    url: Url,
    /// PEM; those of the system without it.
    authorities: Option<PathBuf>,
}

impl Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(formatter)
    }
}

impl Location {
    /// Reads a URL: https, or http on this host, since keys that came over the network in clear text could be anyone's.
    pub(super) fn new(text: &str, authorities: Option<PathBuf>) -> Result<Self, IssuerError> {
        Self::read(text, authorities).map_err(IssuerError)
    }

    fn read(text: &str, authorities: Option<PathBuf>) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("{text:?} is no URL: {error}"))?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local);
        if !is_safe || !url.username().is_empty() || url.password().is_some() {
            return Err(format!(
                "expected keys at https:// without a user, or at http:// on this host, and found {:?}",
                url.origin().ascii_serialization()
            ));
        }
        let location = Self { url, authorities };
        if location.authorities.is_some() {
            location.roots()?;
        }
        Ok(location)
    }

    /// The body of the answer.
    pub(super) async fn fetch(&self) -> Result<Vec<u8>, IssuerError> {
        let answer = timeout(TIMEOUT, self.exchange()).await;
        let answer =
            answer.unwrap_or_else(|_| Err(format!("no answer in {} s", TIMEOUT.as_secs())));
        answer.map_err(IssuerError)
    }

    async fn exchange(&self) -> Result<Vec<u8>, String> {
        let host = self.url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or_default();
        let stream = TcpStream::connect((address, port)).await;
        let stream = stream.map_err(|error| format!("connecting: {error}"))?;
        if self.url.scheme() != "https" {
            return self.ask(stream).await;
        }
        let name = ServerName::try_from(address.to_owned()).map_err(|error| error.to_string())?;
        let stream = self.connector()?.connect(name, stream).await;
        self.ask(stream.map_err(|error| format!("TLS: {error}"))?)
            .await
    }

    async fn ask<S>(&self, stream: S) -> Result<Vec<u8>, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let failed = |error: hyper::Error| format!("HTTP: {error}");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(failed)?;
        let path = &self.url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &self.url[url::Position::BeforeHost..url::Position::AfterPort];
        let request = Request::get(path)
            .header(header::HOST, host)
            .header(header::ACCEPT, "application/json, application/jwk-set+json")
            .header(header::CONNECTION, "close")
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(failed)?;
            if answer.status() != StatusCode::OK {
                return Err(format!(
                    "expected status 200, and found {}",
                    answer.status()
                ));
            }
            let body = Limited::new(answer.into_body(), ANSWER_MAX_BYTES).collect();
            let body = body.await.map_err(|error| format!("HTTP: {error}"))?;
            Ok(body.to_bytes().to_vec())
        };
        tokio::pin!(exchange);
        tokio::select! {
            answer = &mut exchange => answer,
            // What the connection still has of the answer is with the body.
            _ = connection => exchange.await,
        }
    }

    fn connector(&self) -> Result<TlsConnector, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth();
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(file) => {
                for authority in certificates(file)? {
                    let added = roots.add(authority);
                    added.map_err(|error| format!("{}: {error}", file.display()))?;
                }
            }
            None => {
                let system = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(system.certs);
            }
        }
        Ok(roots)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: String| format!("{}: {error}", file.display());
    let text = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let read = read.map_err(|error| failed(error.to_string()))?;
    if read.is_empty() {
        return Err(failed("expected certificates in PEM".to_owned()));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_tls_or_from_this_host() {
        let check = |text: &str, is_good: bool| {
            assert_eq!(Location::new(text, None).is_ok(), is_good, "{text}");
        };
        check("https://login.example/keys?x=1", true);
        check("http://127.0.0.1:8081/keys", true);
        check("http://[::1]:8081/keys", true);
        check("http://localhost/keys", true);
        check("http://login.example/keys", false);
        check("http://127.0.0.1.example/keys", false);
        check("https://user:secret@login.example/keys", false);
        check("ftp://login.example/keys", false);
        check("login.example", false);
        let error = Location::new("https://a:secret@b", None).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
