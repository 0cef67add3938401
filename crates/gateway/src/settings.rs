//! What an operator can set: every limit is a flag with a default.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waggle_flags::{duration, size};

use crate::database::DatabaseSettings;
use crate::kafka::KafkaSettings;

/// Flags of `waggle-gateway serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Address and port to listen on; port 0 takes a free one. Whoever can reach it can write and read: nobody is asked who
    /// they are
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// A second address for /healthz, /readyz and /metrics alone: it is answered also while --connections-max connections are
    /// open; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub operators_listen: Option<SocketAddr>,
    /// Where records become durable: in a file of the gateway's own, or in a Kafka cluster
    #[arg(long, value_enum, default_value_t = BackendName::Embedded)]
    pub backend: BackendName,
    /// The embedded store's file; made where there is none
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
    /// Bytes of bodies received and not yet answered, over all connections; beyond it 503
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub in_flight_max_bytes: usize,
    /// Records that wait for the next commit or batch; beyond it 503
    #[arg(long, default_value_t = 1_000_000, value_parser = size(1..=1 << 31))]
    pub queue_max_records: usize,
    /// Open connections; beyond it 503
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=1 << 20))]
    pub connections_max: usize,
    /// Requests of one connection that are worked on at once
    #[arg(long, default_value_t = 128, value_parser = size(1..=1 << 16))]
    pub pipelining_max: usize,
    /// Time for a client to send a request's head, from its first byte (from the connection's start for the first)
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub head_timeout: Duration,
    /// Time for a client to send a request's body
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub body_timeout: Duration,
    /// Time a connection may be quiet between requests
    #[arg(long, default_value = "75s", value_parser = duration)]
    pub idle_timeout: Duration,
    /// Time a client may leave answers unread
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub write_timeout: Duration,
    /// Time after SIGTERM for open requests to come whole and be answered
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub drain_timeout: Duration,
    /// Time a commit waits for more records after the first one; batches form without it
    #[arg(long, default_value = "0s", value_parser = duration, requires = "store")]
    pub commit_delay: Duration,
    /// Size at which the write-ahead log is folded into the file at the latest, in bytes
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = clap::value_parser!(u64).range(64 * 1024..), requires = "store")]
    pub wal_max_bytes: u64,
    /// Size beyond which the store's file does not grow, in bytes; then 503; 0 is no limit
    #[arg(long, default_value_t = 0, requires = "store")]
    pub store_max_bytes: u64,
    /// Topics that may exist
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=crate::store::TOPICS_MAX as u64))]
    pub topics_max: usize,
    /// Reads and queries worked on at once, by all workers together; more wait, too many are answered 429
    #[arg(long, default_value_t = 2, value_parser = size(1..=64), requires = "queries")]
    pub readers: usize,
    /// Records in one answer to a read, and rows in one answer to a query
    #[arg(long, default_value_t = 100_000, value_parser = size(1..=10_000_000))]
    pub answer_max_records: usize,
    /// Bytes of one answer to a read or a query, over which it stops at the next record
    #[arg(long, default_value_t = 16 * 1024 * 1024, value_parser = size(1..=1 << 30))]
    pub answer_max_bytes: usize,
    /// Bytes of answers to reads and queries that clients have not taken yet, over all connections; beyond it 503
    #[arg(long, default_value_t = 256 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub answers_max_bytes: usize,
    /// Records that one query or read looks at; values that InfluxDB answers to one
    #[arg(long, default_value_t = 20_000_000, value_parser = size(1..=1 << 40), requires = "queries")]
    pub query_max_records: usize,
    /// Series whose latest reading is kept in memory, over all topics; beyond it those go that were longest without a record;
    /// 0 keeps none
    #[arg(long, default_value_t = 100_000, value_parser = size(0..=100_000_000))]
    pub last_series: usize,
    /// Bytes of memory for these readings
    #[arg(long, default_value_t = 32 * 1024 * 1024, value_parser = size(1 << 20..=1 << 40))]
    pub last_max_bytes: usize,
    /// Records of the store that are looked at after the start to know these readings again, the newest of each topic
    #[arg(long, default_value_t = 20_000_000, value_parser = size(0..=1 << 40), requires = "store")]
    pub last_restore_records: usize,
    #[command(flatten)]
    pub kafka: KafkaSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
}

/// The logs there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendName {
    Embedded,
    Kafka,
}

/// The log that was chosen, with what it cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendKind<'a> {
    /// The store's file.
    Embedded(&'a Path),
    /// Brokers.
    Kafka(&'a str),
}

/// Flags that do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("--backend embedded needs --store FILE (or --backend kafka with --kafka-brokers)")]
    StoreMissing,
    #[error("--store is of the embedded backend; with --backend kafka there is none")]
    StoreUnused,
    #[error("--backend kafka needs --kafka-brokers HOST:PORT")]
    BrokersMissing,
    #[error("--kafka-brokers needs --backend kafka; the backend is embedded")]
    BrokersUnused,
}

impl Settings {
    /// The log that was chosen.
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
