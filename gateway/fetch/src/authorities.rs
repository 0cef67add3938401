//! The authorities that sign a provider's certificate: those of a file, else the system's.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_rustls::TlsConnector;

use crate::{file::read_file, location::LocationError};

/// Largest file of authorities: a system's list has 0.3 MB.
const FILE_MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    #[error("reading {file}: {source}")]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{file}: {problem}")]
    Content { file: PathBuf, problem: String },
}

/// What makes TLS of a stream.
pub(crate) fn connector(file: Option<&Path>) -> Result<TlsConnector, LocationError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(LocationError::Setup)?
        .with_root_certificates(trusted_roots(file)?)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The certificates of the authorities in a file, at least one; without a file those of the system, which may have none.
///
/// # Errors
/// If the file cannot be read or has no certificates.
pub fn trusted_roots(file: Option<&Path>) -> Result<RootCertStore, AuthoritiesError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        // Some that are not valid are left out.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let wrong = |problem: String| AuthoritiesError::Content {
        file: file.to_owned(),
        problem,
    };
    let text = read_file(file, FILE_MAX_BYTES).map_err(|source| AuthoritiesError::Read {
        file: file.to_owned(),
        source,
    })?;
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
