//! What an operator can set: every limit is a flag with a default.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use waggle_flags::{duration, positive_duration, size};

use crate::{
    clients::settings::ClientSettings, log::kafka::KafkaSettings,
    queries::database::DatabaseSettings, tls::TlsSettings,
};

/// Flags of `waggle-gateway serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Address and port to listen on; port 0 selects a free one. An address that other hosts can reach needs --clients,
    /// certificates of clients, or --insecure
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// A second address, for /healthz, /readyz and /metrics, which are not at --listen then. Its connections do not count towards
    /// --connections-max; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Storage of records: a file of the gateway, or a Kafka cluster
    #[arg(long, value_enum, default_value_t = BackendName::Embedded)]
    pub backend: BackendName,
    /// File of the embedded store; created if it does not exist
    #[arg(long, value_name = "FILE", group = "queries")]
    pub store: Option<PathBuf>,
    /// Number of threads that serve connections
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub workers: u32,
    /// Maximum size of a request body, in bytes; also of one in gzip or zstd when it is decoded
    #[arg(long, default_value_t = 8 * 1024 * 1024, value_parser = size(1..=1 << 30))]
    pub body_max_bytes: usize,
    /// Maximum number of times that a body in gzip or zstd may be as large, decoded, as it was sent; above it 413. Up to 64 KiB any
    /// ratio is taken
    #[arg(long, default_value_t = 100, value_parser = size(1..=1 << 20))]
    pub body_max_ratio: usize,
    /// Maximum size of a request head, in bytes
    #[arg(long, default_value_t = 16 * 1024, value_parser = size(128..=1 << 20))]
    pub head_max_bytes: usize,
    /// Maximum total size of bodies that are received and not answered yet, over all connections, in bytes; above it 503. A quarter
    /// is left for bodies of at most 64 KiB
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub in_flight_max_bytes: usize,
    /// Maximum number of records that wait for the next commit or batch; above it 503
    #[arg(long, default_value_t = 1_000_000, value_parser = size(1..=1 << 31))]
    pub queue_max_records: usize,
    /// Maximum number of open connections; above it 503
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=1 << 20))]
    pub connections_max: usize,
    /// Maximum number of requests of one connection that are processed at the same time; over HTTP/2 of streams
    #[arg(long, default_value_t = 128, value_parser = size(1..=1 << 16))]
    pub pipelining_max: usize,
    /// Timeout for receiving the head of a request, from its first byte (for the first request: from the start of the connection)
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub head_timeout: Duration,
    /// Timeout for receiving the body of a request. It begins again as long as at least --body-min-rate arrives
    #[arg(long, default_value = "30s", value_parser = positive_duration)]
    pub body_timeout: Duration,
    /// Least rate at which the body of a request must arrive if it takes longer than --body-timeout, in bytes per second, averaged
    /// over that time; 0 disables longer times
    #[arg(long, default_value_t = 16 * 1024, value_parser = size(0..=1 << 40))]
    pub body_min_rate: usize,
    /// Timeout of idle connections
    #[arg(long, default_value = "75s", value_parser = duration)]
    pub idle_timeout: Duration,
    /// Timeout for a client to read answers
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub write_timeout: Duration,
    /// Time after SIGTERM for receiving and answering open requests
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub drain_timeout: Duration,
    /// Time that a commit waits for more records after the first one. Batches also form without a delay, during commits
    #[arg(long, default_value = "0s", value_parser = duration, requires = "store")]
    pub commit_delay: Duration,
    /// Size of the write-ahead log at which a checkpoint is forced, in bytes
    #[arg(long, default_value_t = 64 * 1024 * 1024, value_parser = clap::value_parser!(u64).range(64 * 1024..), requires = "store")]
    pub wal_max_bytes: u64,
    /// Maximum size of the file of the store, in bytes; above it 507; 0 disables the limit
    #[arg(long, default_value_t = 0, requires = "store")]
    pub store_max_bytes: u64,
    /// Maximum time that a record may be ahead of the gateway's clock; above it 400. A record of a far future hides all later ones of its
    /// series from the latest readings [default: any]
    #[arg(long, value_name = "DURATION", value_parser = positive_duration)]
    pub time_ahead_max: Option<Duration>,
    /// Maximum number of topics
    #[arg(long, default_value_t = 10_000, value_parser = size(1..=crate::log::store::TOPICS_MAX as u64))]
    pub topics_max: usize,
    /// Maximum number of concurrent reads and queries, over all workers. Sixteen times as many may wait; above that 429
    #[arg(long, default_value_t = 2, value_parser = size(1..=64), requires = "queries")]
    pub query_concurrency: usize,
    /// Timeout of a read or query of the embedded store: for its turn, and again for its work. After it the answer has what there is so
    /// far, as at other limits
    #[arg(long, default_value = "10s", value_parser = positive_duration, requires = "store")]
    pub read_timeout: Duration,
    /// Maximum number of records in the answer to a read, and of rows in the answer to a query
    #[arg(long, default_value_t = 100_000, value_parser = size(1..=10_000_000))]
    pub answer_max_records: usize,
    /// Maximum size of an answer to a read or query, in bytes; a longer one is cut after the next record
    #[arg(long, default_value_t = 16 * 1024 * 1024, value_parser = size(1..=1 << 30))]
    pub answer_max_bytes: usize,
    /// Maximum total size of answers to reads and queries that clients have not read yet, over all connections, in bytes; above
    /// it 503
    #[arg(long, default_value_t = 256 * 1024 * 1024, value_parser = size(1..=1 << 40))]
    pub answers_max_bytes: usize,
    /// Maximum number of records that a read or query scans, and of values in an answer of InfluxDB
    #[arg(long, default_value_t = 20_000_000, value_parser = size(1..=1 << 40), requires = "queries")]
    pub query_max_records: usize,
    /// Maximum number of series whose latest reading is kept in memory, over all topics. Above it, the series without a record
    /// for the longest time are evicted; 0 disables latest readings
    #[arg(long, default_value_t = 100_000, value_parser = size(0..=100_000_000))]
    pub latest_max_series: usize,
    /// Maximum memory for latest readings, in bytes
    #[arg(long, default_value_t = 32 * 1024 * 1024, value_parser = size(1 << 20..=1 << 40))]
    pub latest_max_bytes: usize,
    /// Maximum number of records of the store that are read after the start to restore latest readings, the newest of each topic
    #[arg(long, default_value_t = 20_000_000, value_parser = size(0..=1 << 40), requires = "store")]
    pub latest_restore_records: usize,
    /// File of the clients with their tokens, rights and budgets; read again when it changes and at SIGHUP. Without it every client
    /// that reaches the gateway can write and read
    #[arg(long, value_name = "FILE")]
    pub clients: Option<PathBuf>,
    /// Listen on an address that other hosts can reach without --clients or certificates of clients
    #[arg(long)]
    pub insecure: bool,
    /// Hosts, without ports, that requests may name in their Host, separated by commas; others are answered 421. It keeps web pages
    /// from reaching the gateway by a name of their own [default: any]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',', value_parser = host)]
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may send requests, as <https://panel.example>, separated by commas. Pages of other origins than the
    /// gateway's own are refused (403)
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',', value_parser = origin)]
    pub allowed_origins: Vec<String>,
    #[command(flatten)]
    pub tls: TlsSettings,
    #[command(flatten)]
    pub client: ClientSettings,
    #[command(flatten)]
    pub kafka: KafkaSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
}

/// Reads a host as it is in `Host`, without a port.
fn host(text: &str) -> Result<String, &'static str> {
    let is_address = text.starts_with('[') && text.ends_with(']');
    let is_name = !text.is_empty() && !text.contains([':', '/', '@', '[', ']', ' ']);
    if is_address || is_name {
        return Ok(text.to_owned());
    }
    Err("expected a name, an IPv4 address, or an IPv6 address in brackets, without a port")
}

/// Reads an origin as browsers send it.
fn origin(text: &str) -> Result<String, &'static str> {
    let is_bare = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ']);
    let parts = text.split_once("://");
    if text == "null" || parts.is_some_and(|(scheme, host)| !scheme.is_empty() && is_bare(host)) {
        return Ok(text.to_owned());
    }
    Err(
        "expected scheme and host, and the port if it is not the scheme's, such as https://panel.example",
    )
}

/// The storage of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendName {
    Embedded,
    Kafka,
}

/// The chosen storage, with its required setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackendKind<'a> {
    /// The file of the store.
    Embedded(&'a Path),
    /// Brokers.
    Kafka(&'a str),
}

/// Flags that conflict with or require each other.
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
    #[error(
        "--kafka-linger: expected less than --kafka-delivery-timeout, which is {timeout:?}; found {linger:?}"
    )]
    LingerTooLong { linger: Duration, timeout: Duration },
    #[error(
        "--listen {0} can be reached by other hosts, and every client could write and read: expected --clients FILE, --tls-client-ca FILE without --tls-client-auth optional, or --insecure"
    )]
    Insecure(SocketAddr),
}

impl Settings {
    /// Refuses to serve clients of other hosts that nobody knows.
    pub(crate) fn check_exposure(&self) -> Result<(), SettingsError> {
        let is_safe = self.listen.ip().to_canonical().is_loopback();
        let is_known = self.clients.is_some() || self.tls.needs_certificate();
        if is_safe || self.insecure || is_known {
            return Ok(());
        }
        Err(SettingsError::Insecure(self.listen))
    }

    /// Whether clients of other hosts send tokens that everyone on the way can read.
    pub(crate) fn sends_tokens_in_clear(&self) -> bool {
        let is_local = self.listen.ip().to_canonical().is_loopback();
        self.clients.is_some() && self.tls.tls_cert.is_none() && !is_local
    }

    /// The chosen storage, whose settings agree with each other.
    pub(crate) fn backend_kind(&self) -> Result<BackendKind<'_>, SettingsError> {
        let brokers = self.kafka.kafka_brokers.as_deref();
        match (self.backend, self.store.as_deref(), brokers) {
            (BackendName::Embedded, Some(store), None) => Ok(BackendKind::Embedded(store)),
            (BackendName::Kafka, None, Some(brokers)) => {
                self.kafka.check_linger()?;
                Ok(BackendKind::Kafka(brokers))
            }
            (BackendName::Embedded, None, None) => Err(SettingsError::StoreMissing),
            (BackendName::Embedded, _, Some(_)) => Err(SettingsError::BrokersUnused),
            (BackendName::Kafka, None, None) => Err(SettingsError::BrokersMissing),
            (BackendName::Kafka, Some(_), _) => Err(SettingsError::StoreUnused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_what_browsers_send() {
        for good in ["gateway", "10.0.0.7", "[::1]"] {
            assert_eq!(host(good).as_deref(), Ok(good));
        }
        for bad in ["", "gateway:8080", "::1", "https://gateway", "a b"] {
            assert!(host(bad).is_err(), "{bad:?}");
        }
        for good in ["https://panel.example", "http://[::1]:3000", "null"] {
            assert_eq!(origin(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "panel.example",
            "https://panel.example/",
            "https://",
            "*",
        ] {
            assert!(origin(bad).is_err(), "{bad:?}");
        }
    }
}
