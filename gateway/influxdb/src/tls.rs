//! TLS below the connections to a database: which authorities sign its certificate.

use std::{path::Path, sync::Arc};

use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, crypto::ring},
};
use waggle_fetch::{AuthoritiesError, trusted_roots};

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("certificate authorities (--influxdb-ca): {0}")]
    Authorities(#[from] AuthoritiesError),
    #[error(
        "expected certificate authorities of the system or a file with some (--influxdb-ca), found neither"
    )]
    NoAuthorities,
    #[error("setting up TLS: {0}")]
    Setup(tokio_rustls::rustls::Error),
}

/// Trust in the authorities of the file, else in the system's.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, TlsError> {
    let roots = trusted_roots(ca)?;
    if roots.is_empty() {
        return Err(TlsError::NoAuthorities);
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
