//! Real servers for tests: started on free ports of 127.0.0.1, each in a folder of its own, gone when its guard is dropped.
//!
//! Programs are looked for on `PATH`, then where `waggle system fetch` keeps them. What is missing fails the test: a test that
//! is skipped says nothing. Everything here panics, as tests do.

#![allow(
    clippy::missing_panics_doc,
    reason = "a crate for tests: every function panics where a server does not do as it should"
)]

#[cfg(feature = "faults")]
pub mod faults;
mod http;
mod influxdb;
mod kafka;
mod process;
mod programs;
mod proxy;
mod small_disk;
mod telegraf;
pub mod writers;

pub use http::{Answer, Connection, put};
pub use influxdb::Influxdb;
pub use kafka::Kafka;
pub use process::{Process, free_port};
pub use programs::program;
pub use proxy::{Proxy, Way};
pub use small_disk::SmallDisk;
pub use telegraf::Telegraf;
