//! The gateway: accepts readings over HTTP, answers when they are durable, and serves reads and queries of them.
//!
//! `waggle-wire` parses bytes (pure, fuzzed), `waggle-record` parses records, `log::store` keeps them in group commits or
//! `log::kafka` sends them to Kafka, and a router serves the other calls. Arguments and exit codes are `main`'s; its command
//! `sink` is `waggle-sink`.

mod answers;
mod call;
mod calls;
mod clients;
mod connection;
mod error;
mod gateway;
mod ingest;
mod log;
mod metrics;
mod queries;
mod settings;
mod shared;
mod tls;
mod watch;
mod worker;

pub use calls::openapi;
pub use clients::identity::{ClientsError, NoRandomness, read_client_name, token_for};
pub use clients::settings::ClientSettings;
pub use error::ServeError;
pub use gateway::serve;
pub use log::{
    kafka::{KafkaSettings, LogError, OpenError},
    store::StoreError,
};
pub use queries::database::{DatabaseError, DatabaseSettings};
pub use settings::{BackendName, Settings, SettingsError};
pub use tls::{ClientAuth, TlsError, TlsSettings};
pub use waggle_influxdb::TOKEN_VARIABLE;
pub(crate) use waggle_wire::http1::request as http1;
