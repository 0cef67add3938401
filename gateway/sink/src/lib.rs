//! The sink: moves records from Kafka to InfluxDB, at least once and with a short delay.
//!
//! A thread reads (`consumer`) into a bounded `backlog`, which forms batches. Each writer (`writer`) writes one batch at a time.
//! An offset is committed when everything before it is in the database or in the dead-letter topic (`offsets`). Records that are
//! written twice are in the database once. `verdict` interprets the database's answer, `bisect` finds the lines that it refuses.

mod backlog;
mod backoff;
mod calls;
mod error;
mod health;
mod metrics;
mod reads;
mod run;
mod settings;
mod shared;
mod writes;

pub use error::SinkError;
pub use run::run;
pub use settings::{SettingError, SinkSettings};
