//! The files of TLS: certificates, keys and lists of revoked certificates, checked as a whole before any of them is in force.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
};
use waggle_service::log;
use x509_parser::{
    prelude::{FromDer, X509Certificate},
    revocation_list::CertificateRevocationList,
    time::ASN1Time,
};

use super::{
    HTTP2,
    settings::{ClientAuth, TlsSettings},
};

/// Largest file that is read.
const FILE_MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why the files of TLS are not in force.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("reading {file}: {source}")]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{file}: {problem}")]
    Content { file: PathBuf, problem: String },
}

/// What is made of the files.
pub(super) struct Loaded {
    pub(super) config: Arc<ServerConfig>,
    /// Judges clients' certificates, if they are asked for.
    pub(super) verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// When the gateway's certificate expires, in seconds since 1970.
    pub(super) expires: u64,
    /// When the first of the lists of revoked certificates should have been replaced by a newer one, in seconds since 1970.
    pub(super) revocations_expire: Option<u64>,
}

/// Reads the files; `None` if there is no TLS.
pub(super) fn load(settings: &TlsSettings) -> Result<Option<Loaded>, TlsError> {
    let (Some(certificate), Some(key)) = (&settings.tls_cert, &settings.tls_key) else {
        return Ok(None);
    };
    let chain = certificates(certificate)?;
    let expires = check_validity(certificate, &chain[0])?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| {
        content(
            key,
            "expected a private key in PEM (PKCS #8, PKCS #1 or SEC 1) that is not encrypted",
        )
    })?;
    let provider = Arc::new(ring::default_provider());
    let revocations_expire = match &settings.tls_client_crl {
        Some(file) => next_update(file)?,
        None => None,
    };
    let verifier = match &settings.tls_client_ca {
        Some(authorities) => Some(client_verifier(settings, authorities, &provider)?),
        None => None,
    };
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| content(certificate, error))?;
    let builder = match &verifier {
        Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
        None => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(chain, secret);
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            content(key, "the key is not that of the certificate")
        }
        error => content(key, format!("not usable with the certificate: {error}")),
    })?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    // A resumed session would not show the client's certificate again, which may have expired or be revoked since.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    if verifier.is_none() {
        config.ticketer = ring::Ticketer::new().map_err(|error| content(certificate, error))?;
    } else {
        config.send_tls13_tickets = 0;
    }
    Ok(Some(Loaded {
        config: Arc::new(config),
        verifier,
        expires,
        revocations_expire,
    }))
}

fn client_verifier(
    settings: &TlsSettings,
    authorities: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(authorities)? {
        roots.add(authority).map_err(|error| {
            content(authorities, format!("not usable as an authority: {error}"))
        })?;
    }
    let mut builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    if let Some(file) = &settings.tls_client_crl {
        let lists = revocations(file)?;
        // A list is of one authority; those of intermediate ones may not be given.
        builder = builder
            .with_crls(lists)
            .only_check_end_entity_revocation()
            .allow_unknown_revocation_status();
    }
    if settings.tls_client_auth == Some(ClientAuth::Optional) {
        builder = builder.allow_unauthenticated();
    }
    let crl = settings.tls_client_crl.as_deref();
    builder
        .build()
        .map_err(|error| content(crl.unwrap_or(authorities), error))
}

/// The lists of revoked certificates of a file, at least one.
fn revocations(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let text = read(file)?;
    let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(&text).collect();
    let lists = lists.map_err(|error| content(file, error))?;
    if lists.is_empty() {
        return Err(content(
            file,
            "expected lists of revoked certificates in PEM",
        ));
    }
    Ok(lists)
}

/// When the first list of a file should be replaced by a newer one. A list that is older is still used: without it certificates would
/// be accepted that it revokes, and to accept none would keep out every client.
fn next_update(file: &Path) -> Result<Option<u64>, TlsError> {
    let mut first: Option<ASN1Time> = None;
    for list in revocations(file)? {
        let (_, parsed) =
            CertificateRevocationList::from_der(&list).map_err(|error| content(file, error))?;
        first = [first, parsed.next_update()].into_iter().flatten().min();
    }
    let seconds = first.map(|next| u64::try_from(next.timestamp()).unwrap_or(0));
    if let (Some(next), Some(seconds)) = (first, seconds)
        && now_s() > seconds
    {
        log::warn(format_args!(
            "{}: a newer list of revoked certificates was due on {next}; this one is used",
            file.display()
        ));
    }
    Ok(seconds)
}

/// Seconds since 1970.
fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// The certificates of a file, at least one.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(file)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = read.map_err(|error| content(file, error))?;
    if chain.is_empty() {
        return Err(content(file, "expected certificates in PEM"));
    }
    Ok(chain)
}

/// Refuses a certificate that has expired or is not valid yet, which no client would accept; returns when it expires.
fn check_validity(file: &Path, certificate: &CertificateDer<'_>) -> Result<u64, TlsError> {
    let (_, parsed) =
        X509Certificate::from_der(certificate).map_err(|error| content(file, error))?;
    let (begins, expires) = (parsed.validity().not_before, parsed.validity().not_after);
    let [begin, end] = [begins, expires].map(|time| u64::try_from(time.timestamp()).unwrap_or(0));
    let problem = match now_s() {
        now if now > end => format!("the certificate expired on {expires}"),
        now if now < begin => format!("the certificate is not valid before {begins}"),
        _ => return Ok(end),
    };
    Err(content(file, problem))
}

fn read(file: &Path) -> Result<Vec<u8>, TlsError> {
    waggle_fetch::read_file(file, FILE_MAX_BYTES).map_err(|source| TlsError::Read {
        file: file.to_owned(),
        source,
    })
}

fn content(file: &Path, problem: impl Display) -> TlsError {
    TlsError::Content {
        file: file.to_owned(),
        problem: problem.to_string(),
    }
}
