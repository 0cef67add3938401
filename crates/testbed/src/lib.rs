//! Real servers for tests: started on free ports of 127.0.0.1, each in a folder of its own, gone when its guard is dropped.
//!
//! Programs are looked for on `PATH`, then where `waggle system fetch` keeps them. What is missing fails the test: a test that
//! is skipped says nothing. Everything here panics, as tests do.

#![allow(
    clippy::missing_panics_doc,
    reason = "a crate for tests: every function panics where a server does not do as it should"
)]

mod influxdb;
mod kafka;
mod process;
mod programs;
mod telegraf;

pub use influxdb::Influxdb;
pub use kafka::Kafka;
pub use process::Process;
pub use programs::program;
pub use telegraf::Telegraf;
