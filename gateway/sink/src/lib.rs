//! The sink: moves records from Kafka to InfluxDB, at least once and with a short delay.
//!
//! A thread reads (`consumer`) into a bounded `backlog`, which forms batches. Each writer (`writer`) writes one batch at a time.
//! An offset is committed when everything before it is in the database or in the dead-letter topic (`offsets`). Records that are
//! written twice are in the database once. `verdict` interprets the database's answer, `bisect` finds the lines that it refuses.

mod backlog;
mod backoff;
mod batch;
mod bisect;
mod calls;
mod consumer;
mod dead_letters;
mod error;
mod health;
mod influxdb;
mod lag;
mod metrics;
mod offsets;
mod reading;
mod run;
mod settings;
mod shared;
mod verdict;
mod writer;

pub use error::SinkError;
pub use run::run;
pub use settings::{SettingError, SinkSettings};
