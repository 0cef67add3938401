//! Flags with the limits of one client.

use waggle_flags::size;

/// Flags with the limits of one client.
#[derive(Debug, Clone, clap::Args)]
#[command(
    next_help_heading = "Limits of one client (an IPv4 address, or a network of 64 bits of IPv6)"
)]
pub struct ClientSettings {
    /// Maximum number of open connections of one client; above it 429 [default: half of --connections-max; no limit for clients on
    /// this host]
    #[arg(long, value_parser = size(1..=1 << 20))]
    pub client_connections_max: Option<usize>,
    /// Maximum size of the parts of bodies that one client has sent while the rest is not there yet, in bytes; above it 429. A
    /// client of --clients counts by its name, from all addresses [default: half of --in-flight-max-bytes; no limit for clients on
    /// this host without a name]
    #[arg(long, value_parser = size(1..=1 << 40))]
    pub client_in_flight_max_bytes: Option<usize>,
    /// Maximum size of the answers to reads and queries that one client has not read yet, in bytes; above it 429. A client of
    /// --clients counts by its name, from all addresses [default: half of --answers-max-bytes; no limit for clients on this host
    /// without a name]
    #[arg(long, value_parser = size(1..=1 << 40))]
    pub client_answers_max_bytes: Option<usize>,
    /// Maximum number of reads and queries of one client that run at the same time; sixteen times as many wait, above that 429
    /// [default: half of --query-concurrency; no limit for clients on this host]
    #[arg(long, value_parser = size(1..=64))]
    pub client_query_concurrency: Option<usize>,
    /// Maximum number of streams of HTTP/2 that one client resets, and of frames that lead nowhere, on all of its connections in 10
    /// s, beyond the requests that are answered; a connection that goes on is ended. A client of --clients counts by its name, from
    /// all addresses [default: 10,000; no limit for clients on this host without a name]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub client_flood_max: Option<u64>,
    /// Maximum number of new topics of one client in a minute; above it 429 [default: 60; no limit for clients on this host]
    #[arg(long, value_parser = size(1..=1 << 20))]
    pub client_topics_max: Option<usize>,
}
