//! What an operator can set: every limit is a flag with a default.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waggle_flags::{RenamedFlag, duration, size};

use crate::database::DatabaseSettings;
use crate::kafka::KafkaSettings;

/// Flags of `waggle-gateway serve` that were renamed: an error for an old one names the new one.
pub const RENAMED_FLAGS: [RenamedFlag; 10] = [
    ("--operators-listen", "--admin-listen"),
    ("--readers", "--query-concurrency"),
    ("--last-series", "--latest-max-series"),
    ("--last-max-bytes", "--latest-max-bytes"),
    ("--last-restore-records", "--latest-restore-records"),
    ("--kafka-message-records", "--kafka-message-max-records"),
    ("--kafka-message-bytes", "--kafka-message-max-bytes"),
    ("--kafka-batch-records", "--kafka-batch-min-records"),
    ("--kafka-timeout", "--kafka-delivery-timeout"),
    ("--kafka-topic-refresh", "--kafka-metadata-refresh-interval"),
];

/// Flags of `waggle-gateway serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Address and port to listen on; port 0 takes a free one. There is no authentication: every client that reaches it can write
    /// and read
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// A second address, for /healthz, /readyz and /metrics alone. Its connections do not count into --connections-max; port 0
    /// takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Where records become durable: in a file of the gateway's own, or in a Kafka cluster
    #[arg(long, value_enum, default_value_t = BackendName::Embedded)]
    pub backend: BackendName,
    /// File of the embedded store; created if it does not exist
    #[arg(long, value_name = "FILE", group = "queries")]
    pub store: Option<PathBuf>,
    /// Threads that serve connections
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: u32,
    /// Largest body of a request, in bytes
    #[arg(long, default_value_t = 8 * 1024 * 1024, value_parser = size(1..=1 << 30))]
    pub body_max_bytes: usize,
    /// Largest head of a request, in bytes
    #[arg(long, default_value_t = 16 * 1024, value_parser = size(128..=1 << 20))]
    pub head_max_bytes: usize,
    /// Largest sum of the bodies received and not yet answered, over all connections, in bytes; above it 503
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub in_flight_max_bytes: usize,
    /// Most records that wait for the next commit or batch; above it 503
    #[arg(long, default_value_t = 1_000_000, value_parser = size(1..=1 << 31))]
    pub queue_max_records: usize,
    /// Most open connections; above it 503
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=1 << 20))]
    pub connections_max: usize,
    /// Most requests of one connection that are processed at once
    #[arg(long, default_value_t = 128, value_parser = size(1..=1 << 16))]
    pub pipelining_max: usize,
    /// Time for a client to send the head of a request, from its first byte (the first one: from the start of the connection)
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub head_timeout: Duration,
    /// Time for a client to send the body of a request
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub body_timeout: Duration,
    /// Time that a connection may be idle between requests
    #[arg(long, default_value = "75s", value_parser = duration)]
    pub idle_timeout: Duration,
    /// Time that a client may leave answers unread
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub write_timeout: Duration,
    /// Time after SIGTERM for open requests to arrive completely and be answered
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub drain_timeout: Duration,
    /// Time that a commit waits for more records after the first one. Batches form without it as well
    #[arg(long, default_value = "0s", value_parser = duration, requires = "store")]
    pub commit_delay: Duration,
    /// Size of the write-ahead log at which it is checkpointed into the file at the latest, in bytes
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = clap::value_parser!(u64).range(64 * 1024..), requires = "store")]
    pub wal_max_bytes: u64,
    /// Largest size of the store's file, in bytes; above it 503; 0 is no limit
    #[arg(long, default_value_t = 0, requires = "store")]
    pub store_max_bytes: u64,
    /// Most topics
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=crate::store::TOPICS_MAX as u64))]
    pub topics_max: usize,
    /// Most reads and queries that run at once, over all workers. Sixteen times as many wait; above that 429
    #[arg(long, default_value_t = 2, value_parser = size(1..=64), requires = "queries")]
    pub query_concurrency: usize,
    /// Most records in one answer to a read, and rows in one answer to a query
    #[arg(long, default_value_t = 100_000, value_parser = size(1..=10_000_000))]
    pub answer_max_records: usize,
    /// Largest answer to a read or a query, in bytes; a longer one ends at the next record
    #[arg(long, default_value_t = 16 * 1024 * 1024, value_parser = size(1..=1 << 30))]
    pub answer_max_bytes: usize,
    /// Largest sum of the answers to reads and queries that clients have not read yet, over all connections, in bytes; above it
    /// 503
    #[arg(long, default_value_t = 256 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub answers_max_bytes: usize,
    /// Most records that one query or read scans, and values in one answer of InfluxDB
    #[arg(long, default_value_t = 20_000_000, value_parser = size(1..=1 << 40), requires = "queries")]
    pub query_max_records: usize,
    /// Most series whose latest reading is kept in memory, over all topics. Above it the series that have been without a record
    /// for longest are evicted; 0 keeps none
    #[arg(long, default_value_t = 100_000, value_parser = size(0..=100_000_000))]
    pub latest_max_series: usize,
    /// Most memory for the latest readings, in bytes
    #[arg(long, default_value_t = 32 * 1024 * 1024, value_parser = size(1 << 20..=1 << 40))]
    pub latest_max_bytes: usize,
    /// Most records of the store that are read after the start to restore the latest readings, the newest of each topic
    #[arg(long, default_value_t = 20_000_000, value_parser = size(0..=1 << 40), requires = "store")]
    pub latest_restore_records: usize,
    #[command(flatten)]
    pub kafka: KafkaSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
}

/// Which log keeps the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendName {
    Embedded,
    Kafka,
}

/// The chosen log, with the setting that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendKind<'a> {
    /// The store's file.
    Embedded(&'a Path),
    /// Brokers.
    Kafka(&'a str),
}

/// Flags that exclude or need each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("--backend embedded needs --store FILE (or --backend kafka with --kafka-brokers)")]
    StoreMissing,
    #[error("--store belongs to --backend embedded; the backend is kafka")]
    StoreUnused,
    #[error("--backend kafka needs --kafka-brokers HOST:PORT")]
    BrokersMissing,
    #[error("--kafka-brokers needs --backend kafka; the backend is embedded")]
    BrokersUnused,
}

impl Settings {
    /// The chosen log.
    pub(crate) fn backend_kind(&self) -> Result<BackendKind<'_>, SettingsError> {
        let brokers = self.kafka.kafka_brokers.as_deref();
        match (self.backend, self.store.as_deref(), brokers) {
            (BackendName::Embedded, Some(store), None) => Ok(BackendKind::Embedded(store)),
            (BackendName::Kafka, None, Some(brokers)) => Ok(BackendKind::Kafka(brokers)),
            (BackendName::Embedded, None, None) => Err(SettingsError::StoreMissing),
            (BackendName::Embedded, _, Some(_)) => Err(SettingsError::BrokersUnused),
            (BackendName::Kafka, None, None) => Err(SettingsError::BrokersMissing),
            (BackendName::Kafka, Some(_), _) => Err(SettingsError::StoreUnused),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        _settings: Settings,
    }

    #[test]
    fn renamed_flags_are_refused_with_their_new_names() {
        for (old, new) in RENAMED_FLAGS {
            let arguments = ["serve", "--store=a", old, "1"];
            let error = waggle_flags::try_parse_from::<Program>(arguments, &RENAMED_FLAGS);
            let error = error.unwrap_err().to_string();
            assert!(
                error.contains(&format!("tip: {old} is now {new}\n")),
                "{error}"
            );
        }
    }
}
