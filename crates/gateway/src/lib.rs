//! The gateway: takes readings by HTTP, makes them durable before it says so, and gives them back.
//!
//! Bytes come in through [`http1`] (pure, fuzzed), records are read by `waggle-record`, kept by [`store`] in group
//! commits and given back by calls that a router serves; or sent to Kafka by `kafka`. The [`sink`](sink()) is the other half of a
//! pipeline: it moves records from Kafka to InfluxDB. Arguments and exit codes are `main`'s.

mod aggregate;
mod answer;
mod backend;
mod call;
mod calls;
mod connection;
mod database;
mod gateway;
pub mod http1;
mod influxdb;
mod ingest;
mod kafka;
mod latest;
mod log;
mod metrics;
mod operators;
mod problem;
mod render;
mod settings;
mod sink;
pub mod store;
mod ticket;
mod turn;
mod worker;

pub use calls::openapi;
pub use database::DatabaseSettings;
pub use gateway::{ServeError, serve};
pub use influxdb::TOKEN_VARIABLE;
pub use kafka::{KafkaSettings, OpenError};
pub use settings::{BackendName, Settings};
pub use sink::{SinkError, SinkSettings, sink};
