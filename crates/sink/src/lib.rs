//! The sink: moves records from Kafka to InfluxDB, so that none is lost and none waits long.
//!
//! A thread reads (`consumer`) into a bounded `backlog`, where messages gather to batches; lanes (`lane`) write a batch each.
//! An offset is committed when everything before it is in the database or in the dead-letter topic (`offsets`). What is read
//! twice is written twice, which changes nothing in the database. Lines that cannot be written are found by
//! `verdict` (what the database says) and `sieve` (which lines it means).

mod back_off;
mod backlog;
mod batch;
mod calls;
mod consumer;
mod dead_letters;
mod error;
mod health;
mod influxdb;
mod lag;
mod lane;
mod metrics;
mod offsets;
mod reading;
mod run;
mod settings;
mod shared;
mod sieve;
mod verdict;

pub use error::SinkError;
pub use run::run;
pub use settings::{SettingError, SinkSettings};
