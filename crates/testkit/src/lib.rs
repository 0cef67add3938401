//! Shared by tests of several crates: HTTP servers and clients, waits, and real servers, all on free ports of 127.0.0.1 and
//! stopped when their guards are dropped.
//!
//! - [`http::Server`] answers by a function of each request, with or without TLS; [`Listener`] hands out raw connections.
//! - `streams::StreamServer` does the same over HTTP/2, and `stream_client::StreamClient` asks by it; [`frames::FrameServer`] sends raw
//!   frames, also invalid ones.
//! - [`http::Connection`] sends the given bytes and reads answers.
//! - [`wait_until`] and [`wait_for`] wait for other threads and processes, [`Lines`] for output of a child.
//! - [`check_page`] compares a generated page of the documentation with the one on disk.
//! - [`Kafka`], [`Influxdb`], [`Telegraf`], [`Prometheus`] and [`Registry`] are the real programs, each in its own folder; [`Proxy`] and
//!   [`SmallDisk`] make networks and disks fail.
//! - [`Cluster`] is a Kubernetes cluster with several nodes.
//!
//! Programs are searched on `PATH`, then in the cache of `waggle system fetch`. A missing program fails the test, because a
//! skipped test shows nothing. Everything here panics, as tests do.

#![allow(
    clippy::missing_panics_doc,
    reason = "a crate for tests: every function panics if a server fails"
)]

pub mod cluster;
#[cfg(feature = "faults")]
pub mod faults;
pub mod frames;
mod golden;
pub mod http;
mod lines;
mod listener;
mod not_tested;
mod proxy;
pub mod random;
mod servers;
mod stream;
#[cfg(feature = "http2")]
pub mod stream_client;
#[cfg(feature = "http2")]
pub mod streams;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "tls")]
mod tls_terminator;
mod wait;
pub mod writers;

pub use cluster::Cluster;
pub use golden::check_page;
pub use lines::Lines;
pub use listener::{Listener, Socket};
pub use not_tested::not_tested;
pub use proxy::{Link, Proxy};
#[cfg(feature = "tls")]
pub use servers::secured_kafka::{Listener as KafkaListener, SecuredKafka};
pub use servers::{
    influxdb::Influxdb,
    kafka::Kafka,
    process::{Process, free_port},
    programs::program,
    prometheus::Prometheus,
    registry::Registry,
    server_folder::server_folder,
    small_disk::SmallDisk,
    telegraf::Telegraf,
};
#[cfg(feature = "tls")]
pub use tls_terminator::TlsTerminator;
pub use wait::{DEADLINE, try_for, wait_for, wait_until};
