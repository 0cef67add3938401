//! TLS of one run: a certificate that the runner makes, which is the only one that its agents trust.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, pem::PemObject},
    version::TLS13,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::host::hexadecimal;

/// The name in the certificate: addresses may be behind forwarded ports.
const NAME: &str = "waggle-runner";
const TOKEN_BYTES: usize = 32;

/// Why a run has no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("there is no randomness for a token")]
    Random,
    #[error("the certificate in the file is no PEM")]
    Pem,
}

/// What a runner shows, and what its agents need.
pub(crate) struct RunIdentity {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) certificate: String,
    pub(crate) token: String,
}

impl RunIdentity {
    /// A new one, whose key is in no file.
    pub(crate) fn make() -> Result<Self, TlsError> {
        let mut random = [0; TOKEN_BYTES];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| TlsError::Random)?;
        let key = KeyPair::generate()?;
        // Valid since 1975: the clock of an agent's machine may be wrong.
        let certificate = CertificateParams::new([NAME.to_owned()])?.self_signed(&key)?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: certificate.pem(),
            token: hexadecimal(&random),
        })
    }
}

/// What an agent connects with.
pub(crate) fn connector(certificate: &str) -> Result<TlsConnector, TlsError> {
    let mut roots = RootCertStore::empty();
    let certificate =
        CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| TlsError::Pem)?;
    roots.add(certificate)?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

pub(crate) fn server_name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("a name of a host")
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Whether two tokens are the same. Their digests are compared, so that the time says nothing about them.
pub(crate) fn is_same_token(first: &str, second: &str) -> bool {
    digest(&SHA256, first.as_bytes()).as_ref() == digest(&SHA256, second.as_bytes()).as_ref()
}
