//! TLS of clients' connections: the certificates in force, which are read again when their files change.

mod files;
mod peer;
mod settings;

pub use files::TlsError;
pub(crate) use peer::PeerCertificate;
pub use settings::{ClientAuth, TlsSettings};

use std::{
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rustls::ServerConfig;
use tokio::sync::Semaphore;
use waggle_service::metrics::Page;

use crate::watch::Watched;
use files::{Loaded, load};

/// The name of HTTP/2 in the handshake (RFC 9113, section 3.1).
pub(crate) const HTTP2: &[u8] = b"h2";

/// TLS as it is in force.
pub(crate) struct Tls {
    settings: TlsSettings,
    loaded: RwLock<Loaded>,
    /// Counts what was in force, so that connections notice a change without a lock.
    version: AtomicU64,
    is_current: AtomicBool,
    /// Handshakes that may be going on.
    pub(crate) turns: Semaphore,
    pub(crate) counts: HandshakeCounts,
}

/// Handshakes of all workers.
#[derive(Debug, Default)]
pub(crate) struct HandshakeCounts {
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Not begun, because too many of the same client were going on.
    pub(crate) refused: AtomicU64,
}

impl Tls {
    /// Reads the files; `None` if there is no TLS.
    ///
    /// # Errors
    /// If a file cannot be read or has a mistake.
    pub(crate) fn open(settings: &TlsSettings) -> Result<Option<Self>, TlsError> {
        let loaded = load(settings)?;
        Ok(loaded.map(|loaded| Self {
            settings: settings.clone(),
            loaded: RwLock::new(loaded),
            version: AtomicU64::new(1),
            is_current: AtomicBool::new(true),
            turns: Semaphore::new(settings.tls_handshakes_max),
            counts: HandshakeCounts::default(),
        }))
    }

    /// What a new connection is accepted with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.read().config)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether a certificate of a client is still one that would be accepted.
    pub(crate) fn accepts(&self, certificate: &PeerCertificate) -> bool {
        let verifier = self.read().verifier.clone();
        verifier.is_some_and(|verifier| certificate.is_accepted_by(&*verifier))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write_metrics(&self, page: &mut Page) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        page.counter(
            "tls_handshakes_total",
            "TLS handshakes that succeeded",
            load(&self.counts.done),
        );
        page.counter(
            "tls_handshakes_failed_total",
            "TLS handshakes that failed or did not end in time",
            load(&self.counts.failed),
        );
        page.counter(
            "tls_handshakes_refused_total",
            "Connections closed because their client had too many handshakes (--tls-handshakes-max)",
            load(&self.counts.refused),
        );
        page.gauge(
            "tls_files_are_in_force",
            "1 if the files of TLS are in force, 0 if one has a mistake and earlier ones are",
            u64::from(self.is_current.load(Ordering::Relaxed)),
        );
        page.gauge(
            "tls_certificate_expires_seconds",
            "When the gateway's certificate expires, in seconds since 1970",
            self.read().expires,
        );
        if let Some(expires) = self.read().revocations_expire {
            page.gauge(
                "tls_client_crl_expires_seconds",
                "When a newer list of revoked certificates is due, in seconds since 1970; an older one is still used",
                expires,
            );
        }
    }
}

impl Watched for Tls {
    fn files(&self) -> Vec<PathBuf> {
        self.settings.files()
    }

    fn renew(&self) -> Result<String, String> {
        let read = load(&self.settings);
        self.is_current.store(read.is_ok(), Ordering::Relaxed);
        if let Some(loaded) = read.map_err(|error| error.to_string())? {
            *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
            self.version.fetch_add(1, Ordering::Release);
        }
        Ok("certificates are read again".to_owned())
    }
}
