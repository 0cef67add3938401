//! TLS for a load: trusted authorities, server name and client certificate, prepared before anything is started.
//!
//! `rustls` implements TLS. `session` is one connection's state; `tickets` keeps session tickets of a worker; `trust` verifies
//! certificates; `refusal` and `keys` say why a handshake failed.

mod keys;
mod refusal;
pub(crate) mod session;
mod tickets;
mod trust;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
};

use rustls::{
    ClientConfig,
    pki_types::{
        CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName,
        pem::{self, PemObject},
    },
};
use serde::{Deserialize, Serialize};
use waggle_spec::Protocol;

/// The settings of TLS.
#[derive(Clone, Serialize, Deserialize)]
pub struct TlsOptions {
    /// The name that the server's certificate must have, also sent to it (SNI); an address is a name too.
    pub server_name: String,
    pub roots: Roots,
    /// Certificates and private key of this side, PEM both.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether connections may resume earlier sessions, which makes handshakes cheaper. Counted in
    /// [`crate::Counts::handshakes_resumed`].
    pub resumes: bool,
}

/// Which certificate authorities are trusted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Roots {
    /// Those of this machine.
    System,
    /// Only these.
    Pem(Vec<u8>),
    /// None: certificates are not verified.
    Unchecked,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("\"{name}\" is not a server name: {error}")]
    ServerName {
        name: String,
        error: InvalidDnsNameError,
    },
    #[error("this machine's certificate authorities cannot be read: {0}")]
    System(String),
    #[error("cannot read {what} as PEM: {error}")]
    Pem {
        what: &'static str,
        error: pem::Error,
    },
    #[error("there is no private key in {0}")]
    NoKey(&'static str),
    #[error(
        "{0} is encrypted, and cannot be read; a copy without a passphrase is made by `openssl pkey -in KEY -out COPY`"
    )]
    EncryptedKey(&'static str),
    #[error("there is no certificate in {0}")]
    NoCertificate(&'static str),
    #[error("a certificate in the authorities: {0}")]
    Root(rustls::Error),
    #[error("the certificate and the private key of the client: {0}")]
    Client(rustls::Error),
    #[error("setting up TLS: {0}")]
    SetUp(rustls::Error),
}

/// TLS, ready for any number of workers and connections.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "TlsOptions", into = "TlsOptions")]
pub struct Tls {
    /// What it was made of, for another process that makes it again.
    options: Arc<TlsOptions>,
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    resumes: bool,
    /// Whether a server has asked for a certificate.
    is_client_wanted: Arc<AtomicBool>,
}

const AUTHORITIES: &str = "the authorities";
const CLIENT_CERTIFICATE: &str = "the client's certificate";
const CLIENT_KEY: &str = "the client's private key";

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            server_name: "localhost".to_owned(),
            roots: Roots::System,
            client: None,
            resumes: true,
        }
    }
}

impl Tls {
    /// Reads certificates and keys.
    ///
    /// # Errors
    /// If one of them cannot be read or used; the text names it.
    pub fn new(options: TlsOptions) -> Result<Self, TlsError> {
        let server_name = ServerName::try_from(options.server_name.clone()).map_err(|error| {
            TlsError::ServerName {
                name: options.server_name.clone(),
                error,
            }
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::SetUp)?;
        let verifier = trust::verifier(&options.roots, provider)?;
        let trusting = trust
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &options.client {
            None => trusting.with_no_client_auth(),
            Some((certificates, key)) => {
                let key = private_key_in(key)?;
                trusting
                    .with_client_auth_cert(certificates_in(certificates, CLIENT_CERTIFICATE)?, key)
                    .map_err(TlsError::Client)?
            }
        };
        let is_client_wanted = Arc::new(AtomicBool::new(false));
        config.client_auth_cert_resolver = Arc::new(refusal::NotingResolver {
            inner: config.client_auth_cert_resolver,
            is_wanted: Arc::clone(&is_client_wanted),
        });
        Ok(Self {
            config: Arc::new(config),
            is_client_wanted,
            server_name,
            resumes: options.resumes,
            options: Arc::new(options),
        })
    }

    /// The settings for a client of HTTP/1.1 that has I/O of its own.
    #[must_use]
    pub fn http1_config(&self) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = alpn_names(Protocol::Http1);
        Arc::new(config)
    }

    /// The name that the server's certificate must have.
    #[must_use]
    pub fn server_name(&self) -> &ServerName<'static> {
        &self.server_name
    }

    /// The same for one worker; workers share no sessions. It keeps tickets for at most `connections`.
    pub(crate) fn of_worker(&self, protocol: Protocol, connections: usize) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = tickets::resumption(self.resumes, connections);
        config.alpn_protocols = alpn_names(protocol);
        Self {
            config: Arc::new(config),
            ..self.clone()
        }
    }
}

impl TryFrom<TlsOptions> for Tls {
    type Error = TlsError;

    fn try_from(options: TlsOptions) -> Result<Self, TlsError> {
        Self::new(options)
    }
}

impl From<Tls> for TlsOptions {
    fn from(tls: Tls) -> Self {
        Self::clone(&tls.options)
    }
}

/// The ALPN name of HTTP/2.
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";
const ALPN_HTTP1: &[u8] = b"http/1.1";

/// The ALPN names that are offered to the server, the preferred one first.
fn alpn_names(protocol: Protocol) -> Vec<Vec<u8>> {
    let names: &[&[u8]] = match protocol {
        Protocol::Http1 => &[ALPN_HTTP1],
        Protocol::Http2 => &[ALPN_HTTP2],
        Protocol::Auto => &[ALPN_HTTP2, ALPN_HTTP1],
    };
    names.iter().map(|name| name.to_vec()).collect()
}

fn private_key_in(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| key_error(pem, error))
}

fn key_error(pem: &[u8], error: pem::Error) -> TlsError {
    let has = |text: &[u8]| memchr::memmem::find(pem, text).is_some();
    match error {
        // PKCS #8, and the older form of OpenSSL.
        _ if has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED") => {
            TlsError::EncryptedKey(CLIENT_KEY)
        }
        pem::Error::NoItemsFound => TlsError::NoKey(CLIENT_KEY),
        error => TlsError::Pem {
            what: CLIENT_KEY,
            error,
        },
    }
}

fn certificates_in(
    pem: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Pem { what, error })?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate(what));
    }
    Ok(certificates)
}

/// Keys and certificates must not get into a log: only the kind of trust and the presence of a client key are shown.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TlsOptions")
            .field("server_name", &self.server_name)
            .field("roots", &self.roots.name())
            .field("has_client", &self.client.is_some())
            .field("resumes", &self.resumes)
            .finish()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tls")
            .field("server_name", &self.server_name.to_str())
            .field(
                "has_client",
                &self.config.client_auth_cert_resolver.has_certs(),
            )
            .field("resumes", &self.resumes)
            .finish()
    }
}

impl Roots {
    fn name(&self) -> &'static str {
        match self {
            Self::System => "System",
            Self::Pem(_) => "Pem",
            Self::Unchecked => "Unchecked",
        }
    }
}
