//! The address of an InfluxDB 2, and connections to it.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};
use url::{Host, Url, form_urlencoded};

use crate::tls::{TlsError, connector};

/// The address of a server.
#[derive(Clone)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// TLS with this name of the server, for `https`.
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// Value of the field `Host`.
    pub authority: HeaderValue,
    /// Without a slash at the end.
    base: Url,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({})", self.base)
    }
}

/// An invalid address, or certificate authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("expected {expected}, found {found:?}")]
    Url {
        expected: &'static str,
        found: String,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("connecting to {host}:{port}: {source}")]
    Connect {
        host: String,
        port: u16,
        source: std::io::Error,
    },
    #[error("TLS with {host}:{port}: {source}")]
    Tls {
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
    /// The address in a URL. With `https`, the server's certificate is that of an authority in the file `ca`, else of one of the
    /// system's; the file is read here.
    ///
    /// # Errors
    /// If it is not an HTTP URL, or has a user or a query; if the authorities cannot be read, or are given without `https`.
    pub fn parse(text: &str, ca: Option<&Path>) -> Result<Self, AddressError> {
        let wrong = |expected| AddressError::Url {
            expected,
            found: text.to_owned(),
        };
        let mut url = Url::parse(text).map_err(|_| wrong("a URL like http://influxdb:8086"))?;
        match url.scheme() {
            "https" => {}
            "http" if ca.is_some() => {
                return Err(wrong(
                    "a URL that begins with https://, because there is a file of authorities",
                ));
            }
            "http" => {}
            _ => return Err(wrong("a URL that begins with http:// or https://")),
        }
        if url.authority().contains('@') || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("a URL without user, query and fragment"));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(wrong("a host")),
        };
        let tls = if url.scheme() == "https" {
            let name = ServerName::try_from(host.clone()).map_err(|_| wrong("a host"))?;
            Some((connector(ca)?, name))
        } else {
            None
        };
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self {
            host,
            tls,
            port: url.port_or_known_default().unwrap_or(80),
            authority: HeaderValue::from_str(url.authority()).map_err(|_| wrong("a host"))?,
            base: url,
        })
    }

    /// The target of a call: its path and the parameters of its query.
    ///
    /// # Errors
    /// If it is too long.
    pub fn target(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Uri, AddressError> {
        let base = self.base.path().trim_end_matches('/');
        let target = format!("{base}{path}?{}", form(parameters));
        target.parse().map_err(|_| AddressError::Url {
            expected: "a shorter path and query",
            found: target,
        })
    }

    /// A new connection, with TLS if the URL says so.
    ///
    /// # Errors
    /// If it fails or times out.
    pub async fn connect(&self, within: Duration) -> Result<Open, NoAnswer> {
        match tokio::time::timeout(within, self.open()).await {
            Ok(opened) => opened,
            Err(_) => Err(NoAnswer::ConnectTimeout {
                host: self.host.clone(),
                port: self.port,
                within,
            }),
        }
    }

    async fn open(&self) -> Result<Open, NoAnswer> {
        let (host, port) = (self.host.clone(), self.port);
        let stream = match TcpStream::connect((&*self.host, self.port)).await {
            Ok(stream) => stream,
            Err(source) => return Err(NoAnswer::Connect { host, port, source }),
        };
        // Nagle's algorithm would only delay requests. A failure makes them slower and nothing else.
        let _ = stream.set_nodelay(true);
        let Some((connector, name)) = &self.tls else {
            return self.shake_hands(stream).await;
        };
        match connector.connect(name.clone(), stream).await {
            Ok(stream) => self.shake_hands(stream).await,
            Err(source) => Err(NoAnswer::Tls { host, port, source }),
        }
    }

    /// HTTP over a stream.
    async fn shake_hands(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Open, NoAnswer> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|source| self.connection_error(source))?;
        // Errors of the connection appear at the next request.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Open { sender, driver })
    }

    /// A connection has failed.
    pub fn connection_error(&self, source: hyper::Error) -> NoAnswer {
        NoAnswer::Http {
            host: self.host.clone(),
            port: self.port,
            source,
        }
    }

    /// There was no answer within this time.
    pub fn timed_out(&self, within: Duration) -> NoAnswer {
        NoAnswer::Timeout {
            host: self.host.clone(),
            port: self.port,
            within,
        }
    }
}

/// Encodes names and values for a form or a query (`application/x-www-form-urlencoded`).
pub fn form(parameters: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish()
}

/// A connection, closed when dropped.
#[derive(Debug)]
pub struct Open {
    pub sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_encoded() {
        assert_eq!(form(&[("a", "-Z_0."), ("b", "")]), "a=-Z_0.&b=");
        let encoded = form(&[("org", "my lab&x=1/ü+")]);
        assert_eq!(encoded, "org=my+lab%26x%3D1%2F%C3%BC%2B");
    }

    #[test]
    fn an_address_comes_from_a_url_without_secrets() {
        let address = Address::parse("http://db:1/below/", None).unwrap();
        assert_eq!((&*address.host, address.port), ("db", 1));
        assert_eq!(address.authority, "db:1");
        let target = address.target("/x", &[("y", "z")]).unwrap();
        assert_eq!(target, "/below/x?y=z");
        let v6 = Address::parse("http://[::1]", None).unwrap();
        assert_eq!((&*v6.host, v6.port), ("::1", 80));
        assert_eq!(
            (&v6.authority, v6.base.as_str()),
            (&HeaderValue::from_static("[::1]"), "http://[::1]/")
        );
        assert_eq!(v6.target("/x", &[("y", "z")]).unwrap(), "/x?y=z");
        for wrong in [
            "db:1",
            "ftp://db",
            "http://a:b@db",
            "http://db?x",
            "http://db#x",
            "http://",
        ] {
            let problem = Address::parse(wrong, None).unwrap_err().to_string();
            assert!(problem.starts_with("expected"), "{problem}");
            assert!(problem.contains(&format!("{wrong:?}")), "{problem}");
        }
    }
}
