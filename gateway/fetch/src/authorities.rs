//! The authorities that sign a provider's certificate: those of a file, else the system's.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_rustls::TlsConnector;

use crate::location::LocationError;

/// What makes TLS of a stream.
pub(crate) fn connector(file: Option<&Path>) -> Result<TlsConnector, LocationError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(LocationError::Setup)?
        .with_root_certificates(roots(file)?)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The certificates of the authorities.
pub(crate) fn roots(file: Option<&Path>) -> Result<RootCertStore, LocationError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        // Some that are not valid are left out.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let wrong = |problem: String| LocationError::Authorities {
        file: file.to_owned(),
        problem,
    };
    let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    for authority in CertificateDer::pem_slice_iter(&text) {
        let authority = authority.map_err(|error| wrong(error.to_string()))?;
        let added = roots.add(authority);
        added.map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("expected certificates in PEM".to_owned()));
    }
    Ok(roots)
}
