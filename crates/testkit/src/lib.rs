//! What tests of several crates need: HTTP servers and clients, waits, and real servers, all on free ports of 127.0.0.1 and gone
//! when their guards are dropped.
//!
//! - [`http::Server`] answers by a function of each request, in the clear or over TLS; [`Listener`] hands out raw connections.
//! - `streams::StreamServer` does the same over HTTP/2.
//! - [`http::Connection`] sends bytes as they are given and reads answers.
//! - [`wait_until`] and [`wait_for`] wait for what others do, [`Lines`] for what a child writes.
//! - [`Kafka`], [`Influxdb`] and [`Telegraf`] are the real programs, each in a folder of its own; [`Proxy`] and [`SmallDisk`] make
//!   networks and disks fail.
//!
//! Programs are looked for on `PATH`, then where `waggle system fetch` keeps them. What is missing fails the test: a test that
//! is skipped says nothing. Everything here panics, as tests do.

#![allow(
    clippy::missing_panics_doc,
    reason = "a crate for tests: every function panics where a server does not do as it should"
)]

#[cfg(feature = "faults")]
pub mod faults;
pub mod http;
mod influxdb;
mod kafka;
mod lines;
mod listener;
mod process;
mod programs;
mod proxy;
pub mod random;
mod small_disk;
mod stream;
#[cfg(feature = "http2")]
pub mod streams;
mod telegraf;
#[cfg(feature = "tls")]
pub mod tls;
mod wait;
pub mod writers;

pub use influxdb::Influxdb;
pub use kafka::Kafka;
pub use lines::Lines;
pub use listener::{Listener, Socket};
pub use process::{Process, free_port};
pub use programs::program;
pub use proxy::{Proxy, Way};
pub use small_disk::SmallDisk;
pub use telegraf::Telegraf;
pub use wait::{DEADLINE, try_for, wait_for, wait_until};
