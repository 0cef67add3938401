//! The gateway: takes readings by HTTP, makes them durable before it says so, and gives them back.
//!
//! Bytes come in through [`http1`] (pure, fuzzed), records are read by `waggle-record`, kept by [`store`] in group
//! commits and given back by calls that a router serves; or sent to Kafka by `kafka`. Arguments and exit codes
//! are `main`'s, whose command `sink` is `waggle-sink`.

mod aggregate;
mod answer;
mod backend;
mod call;
mod calls;
mod connection;
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
mod turn;
mod worker;

pub use calls::openapi;
pub use database::{DatabaseError, DatabaseSettings};
pub use error::ServeError;
pub use gateway::serve;
pub use kafka::{KafkaSettings, LogError, OpenError};
pub use settings::{BackendName, Settings, SettingsError};
pub use waggle_influxdb::TOKEN_VARIABLE;
