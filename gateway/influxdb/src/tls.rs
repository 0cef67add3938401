//! TLS below the connections to a database: which authorities sign its certificate.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, pem::PemObject},
    },
};

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("certificate authorities (--influxdb-ca): reading {file}: {source}")]
    File {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "certificate authorities (--influxdb-ca): {file}: expected certificates in PEM: {problem}"
    )]
    Certificate { file: PathBuf, problem: String },
    #[error(
        "expected certificate authorities of the system or a file with some (--influxdb-ca), found neither"
    )]
    NoAuthorities,
    #[error("setting up TLS: {0}")]
    Setup(tokio_rustls::rustls::Error),
}

/// Trust in the authorities of the file, else in the system's.
pub(crate) fn connector(ca: Option<&Path>) -> Result<TlsConnector, TlsError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(file) => add_file(&mut roots, file)?,
        None => {
            // Some that are not valid are left out; without any there is an error.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
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

fn add_file(roots: &mut RootCertStore, file: &Path) -> Result<(), TlsError> {
    let wrong = |problem: String| TlsError::Certificate {
        file: file.to_owned(),
        problem,
    };
    let pem = std::fs::read(file).map_err(|source| TlsError::File {
        file: file.to_owned(),
        source,
    })?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("there is none".to_owned()));
    }
    Ok(())
}
