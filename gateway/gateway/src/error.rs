//! Why the gateway cannot serve.

use std::net::SocketAddr;

use crate::{
    clients::identity::ClientsError,
    log::{
        kafka::{LogError, OpenError},
        store::StoreError,
    },
    queries::database::DatabaseError,
    settings::SettingsError,
    tls::TlsError,
};

/// Why the gateway could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Clients(#[from] ClientsError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Kafka(#[from] OpenError),
    #[error("listening on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("starting a worker: {0}")]
    Worker(std::io::Error),
    #[error("a worker ended early")]
    WorkerEnded,
    #[error("the store's committer panicked")]
    Committer,
    #[error("nothing can be sent to Kafka any more: {0}")]
    Log(#[from] LogError),
}

impl ServeError {
    /// Whether the arguments, or a file that they name, are wrong.
    pub fn is_mistake_of_user(&self) -> bool {
        match self {
            Self::Settings(_) | Self::Clients(_) | Self::Tls(_) => true,
            Self::Kafka(error) => matches!(error, OpenError::Access(_)),
            _ => false,
        }
    }
}
