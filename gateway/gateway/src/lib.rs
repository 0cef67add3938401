//! The gateway: accepts readings over HTTP, answers when they are durable, and serves reads and queries of them.
//!
//! [`http1`] parses bytes (pure, fuzzed), `waggle-record` parses records, [`store`] keeps them in group commits or `kafka` sends
//! them to Kafka, and a router serves the other calls. Arguments and exit codes are `main`'s; its command `sink` is
//! `waggle-sink`.

mod aggregate;
mod answer;
mod backend;
mod call;
mod calls;
mod connection;
mod cycle;
mod database;
mod error;
mod exposition;
mod form;
mod gateway;
pub mod http1;
mod ingest;
mod kafka;
mod latest;
mod metrics;
mod problem;
mod render;
mod settings;
mod shared;
pub mod store;
mod ticket;
mod worker;

pub use calls::openapi;
pub use database::{DatabaseError, DatabaseSettings};
pub use error::ServeError;
pub use gateway::serve;
pub use kafka::{KafkaSettings, LogError, OpenError};
pub use settings::{BackendName, Settings, SettingsError};
pub use waggle_influxdb::TOKEN_VARIABLE;
