//! Flags of `--backend kafka`, and the settings of librdkafka.

use std::time::Duration;

use rdkafka::ClientConfig;
use waggle_flags::{BoundsError, duration_within, size};
use waggle_kafka::{Access, SecuritySettings};

use crate::settings::SettingsError;

/// Settings of the Kafka producer.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Kafka")]
pub struct KafkaSettings {
    /// Bootstrap brokers of the cluster: HOST:PORT, several separated by commas
    #[arg(long, value_name = "HOST:PORT,…", value_parser = brokers)]
    pub kafka_brokers: Option<String>,
    /// Prefix of topic names in Kafka
    #[arg(long, default_value = "", value_parser = prefix, requires = "kafka_brokers")]
    pub kafka_topic_prefix: String,
    /// Create topics that do not exist. Without it their records are refused (404)
    #[arg(long, requires = "kafka_brokers")]
    pub kafka_create_topics: bool,
    /// Number of partitions of topics that the gateway creates; existing topics keep theirs [default: the broker's]
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=10_000), requires = "kafka_brokers")]
    pub kafka_partitions: Option<i32>,
    /// Replication factor of topics that the gateway creates [default: the broker's]
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=100), requires = "kafka_brokers")]
    pub kafka_replicas: Option<i32>,
    /// Acknowledgement that a 204 means: of all in-sync replicas, or of the leader only. With `leader`, a crash of the
    /// leader's machine can lose acknowledged records
    #[arg(long, value_enum, default_value_t = Acks::All, requires = "kafka_brokers")]
    pub kafka_acks: Acks,
    /// Compression of messages
    #[arg(long, value_enum, default_value_t = Compression::None, requires = "kafka_brokers")]
    pub kafka_compression: Compression,
    /// Timeout from parsing the records of a request until the broker has acknowledged all of them; after it 503
    #[arg(long, default_value = "800ms", value_parser = timeout, requires = "kafka_brokers")]
    pub kafka_delivery_timeout: Duration,
    /// Maximum number of records in a message
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "kafka_brokers")]
    pub kafka_message_max_records: u32,
    /// Maximum size of a message with more than one record, in bytes
    #[arg(long, default_value_t = 256 * 1024, value_parser = size(1..=1 << 29), requires = "kafka_brokers")]
    pub kafka_message_max_bytes: usize,
    /// Maximum size of a record, in bytes; above it 413. A topic with a lower max.message.bytes lowers the limit
    #[arg(long, default_value_t = 256 * 1024, value_parser = size(1..=1 << 29), requires = "kafka_brokers")]
    pub kafka_record_max_bytes: usize,
    /// Maximum size of a produce request to a partition, in bytes. The topic must accept this size (max.message.bytes)
    #[arg(long, default_value_t = 768 * 1024, value_parser = size(1024..=1 << 29), requires = "kafka_brokers")]
    pub kafka_request_max_bytes: usize,
    /// Maximum number of unacknowledged batches of a topic; until one is acknowledged, the next batch collects records
    #[arg(long, default_value_t = 3, value_parser = size(1..=1000), requires = "kafka_brokers")]
    pub kafka_batches_in_flight: usize,
    /// Time for which the records of a batch gather if no other is in flight, unless it has --kafka-batch-min-records before. 0
    /// sends the first record at once; a longer time makes fewer and larger batches of records that come steadily, and answers
    /// later
    #[arg(long, default_value = "0s", value_parser = linger, requires = "kafka_brokers")]
    pub kafka_linger: Duration,
    /// Minimum number of records of a batch that is sent while others are in flight, or before the end of --kafka-linger. A
    /// smaller batch waits for their acknowledgement, at most 5 ms or --kafka-linger
    #[arg(long, default_value_t = 64, value_parser = size(1..=1_000_000), requires = "kafka_brokers")]
    pub kafka_batch_min_records: usize,
    /// What chooses a record's partition. `series`: a hash of its series, so that readings of a series stay in order. `batch`: all
    /// records of a batch go to one partition, those of the next to the next: fewer requests to the broker, and no order between
    /// batches
    #[arg(long, value_enum, default_value_t = PartitionBy::Series, requires = "kafka_brokers")]
    pub kafka_partition_by: PartitionBy,
    /// Interval of metadata requests, which show new partitions and deleted topics
    #[arg(long, default_value = "30s", value_parser = refresh, requires = "kafka_brokers")]
    pub kafka_metadata_refresh_interval: Duration,
    #[command(flatten)]
    pub security: SecuritySettings,
}

/// Which replicas must acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Acks {
    All,
    Leader,
}

/// What chooses a record's partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PartitionBy {
    Series,
    Batch,
}

/// Compression of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compression {
    None,
    Lz4,
    Zstd,
    Gzip,
    Snappy,
}

/// Maximum length of a topic name in Kafka.
const NAME_MAX_BYTES: usize = 249;
const PREFIX_MAX_BYTES: usize = NAME_MAX_BYTES - crate::ingest::TOPIC_MAX_BYTES;
/// An upper bound of the overhead of a batch with one record.
pub(super) const BATCH_OVERHEAD_BYTES: usize = 512;
/// Maximum pause before a reconnect.
const RECONNECT_MAX: Duration = Duration::from_millis(500);
/// Timeout of a connection attempt, and of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A small batch waits at most so long for those in flight: one of them may be for a partition without a leader.
const SMALL_WAITS: Duration = Duration::from_millis(5);

/// What decides whether gathered records are sent, but for their time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gathering {
    pub(super) records: usize,
    pub(super) batches_in_flight: usize,
}

/// Why the value of a flag is invalid.
#[derive(Debug, thiserror::Error)]
enum ValueError {
    #[error("expected HOST:PORT, found {0:?}")]
    Broker(String),
    #[error("expected at most {PREFIX_MAX_BYTES} of the characters A-Z a-z 0-9 . _ -")]
    Prefix,
}

fn brokers(text: &str) -> Result<String, ValueError> {
    let is_broker = |broker: &str| {
        broker.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty()
                && !host.contains(char::is_whitespace)
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        })
    };
    match text.split(',').find(|broker| !is_broker(broker)) {
        None => Ok(text.to_owned()),
        Some(broker) => Err(ValueError::Broker(broker.to_owned())),
    }
}

fn prefix(text: &str) -> Result<String, ValueError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if text.len() > PREFIX_MAX_BYTES || !text.bytes().all(allowed) {
        return Err(ValueError::Prefix);
    }
    Ok(text.to_owned())
}

fn timeout(text: &str) -> Result<Duration, BoundsError> {
    duration_within(text, Duration::from_millis(50)..=Duration::from_mins(5))
}

fn linger(text: &str) -> Result<Duration, BoundsError> {
    duration_within(text, Duration::ZERO..=Duration::from_mins(1))
}

fn refresh(text: &str) -> Result<Duration, BoundsError> {
    duration_within(text, Duration::from_millis(100)..=Duration::from_hours(24))
}

impl KafkaSettings {
    /// Refuses a linger in which every record would be late.
    pub(crate) fn check_linger(&self) -> Result<(), SettingsError> {
        let (linger, timeout) = (self.kafka_linger, self.kafka_delivery_timeout);
        if linger < timeout {
            return Ok(());
        }
        Err(SettingsError::LingerTooLong { linger, timeout })
    }

    /// Whether gathered records, the first of which has waited so long, are sent: a small batch waits for further records, and for
    /// the batches in flight.
    pub(super) fn is_due(&self, gathering: Gathering, waited: impl Fn() -> Duration) -> bool {
        let is_large = gathering.records >= self.kafka_batch_min_records;
        match gathering.batches_in_flight {
            0 => is_large || self.kafka_linger.is_zero() || waited() >= self.kafka_linger,
            batches if batches < self.kafka_batches_in_flight => {
                is_large || waited() >= SMALL_WAITS.max(self.kafka_linger)
            }
            _ => false,
        }
    }

    /// Settings of every client.
    pub(super) fn client(access: &Access) -> ClientConfig {
        let mut config = access.client_config();
        config
            .set("client.id", "waggle-gateway")
            .set("socket.nagle.disable", "true")
            .set("socket.keepalive.enable", "true")
            .set("socket.timeout.ms", millis(ANSWER_TIMEOUT))
            .set("socket.connection.setup.timeout.ms", millis(ANSWER_TIMEOUT))
            .set("api.version.request.timeout.ms", millis(ANSWER_TIMEOUT))
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", millis(RECONNECT_MAX))
            .set("retry.backoff.ms", "50")
            .set("allow.auto.create.topics", "false")
            .set("log.connection.close", "false");
        config
    }

    /// Settings of the producer. The batches are complete when it gets them, so it does not linger.
    pub(super) fn producer(&self, access: &Access, in_flight_max_bytes: usize) -> ClientConfig {
        let mut config = Self::client(access);
        let all = self.kafka_acks == Acks::All;
        let message_max = self
            .kafka_record_max_bytes
            .max(self.kafka_request_max_bytes);
        config
            .set("acks", if all { "all" } else { "1" })
            .set("enable.idempotence", if all { "true" } else { "false" })
            // Several requests in flight keep their order only with idempotence.
            .set("max.in.flight", if all { "5" } else { "1" })
            .set("linger.ms", "0")
            .set("compression.type", self.kafka_compression.name())
            .set("message.timeout.ms", millis(self.kafka_delivery_timeout))
            .set("request.timeout.ms", millis(self.kafka_delivery_timeout))
            .set("batch.size", self.kafka_request_max_bytes.to_string())
            .set(
                "message.max.bytes",
                (message_max + BATCH_OVERHEAD_BYTES).to_string(),
            )
            .set("queue.buffering.max.messages", "1000000")
            .set(
                "queue.buffering.max.kbytes",
                (2 * in_flight_max_bytes / 1024)
                    .clamp(1024, 2_147_483_647)
                    .to_string(),
            )
            .set("topic.metadata.refresh.fast.interval.ms", "100");
        config
    }
}

impl Compression {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
        }
    }
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}
