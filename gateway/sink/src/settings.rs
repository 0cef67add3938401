//! Settings of the sink: every limit is a flag with a default.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use waggle_flags::{duration, positive_duration, size};
use waggle_kafka::SecuritySettings;

/// Flags of `waggle-gateway sink`.
#[derive(Debug, Clone, clap::Args)]
pub struct SinkSettings {
    /// Bootstrap brokers of the cluster: HOST:PORT, several separated by commas
    #[arg(long, value_name = "HOST:PORT,…")]
    pub kafka_brokers: String,
    /// A topic to read; may be repeated
    #[arg(long, value_name = "TOPIC", required_unless_present = "topic_prefix")]
    pub topic: Vec<String>,
    /// Read every topic whose name starts with this prefix, including topics that are created later; dead-letter topics are
    /// excluded
    #[arg(long, value_name = "TEXT", conflicts_with = "topic")]
    pub topic_prefix: Option<String>,
    /// Consumer group; the sinks of a group share the partitions
    #[arg(long, default_value = "waggle-sink")]
    pub group: String,
    /// Static membership: an id of this sink that is unique in the group. If the sink is restarted with the same id, it resumes
    /// its partitions immediately
    #[arg(long, value_name = "ID")]
    pub group_instance_id: Option<String>,
    /// Start position in partitions without a committed offset of the group
    #[arg(long, value_enum, default_value_t = StartOffset::Earliest)]
    pub offset_reset: StartOffset,
    /// The InfluxDB 2 to write to, e.g. <http://influxdb:8086> or <https://influxdb.example>
    #[arg(long, value_name = "URL")]
    pub influxdb_url: String,
    /// File with the certificates of authorities that sign an InfluxDB with https, in PEM; read at the start [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub influxdb_ca: Option<PathBuf>,
    /// Organization in InfluxDB
    #[arg(long, value_name = "ORG")]
    pub influxdb_org: String,
    /// Bucket in InfluxDB
    #[arg(long, value_name = "BUCKET")]
    pub influxdb_bucket: String,
    /// File with the token; it is read again if InfluxDB refuses the token [default: the environment variable INFLUX_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub influxdb_token_file: Option<PathBuf>,
    /// Maximum number of lines in a write; a message with more lines is written by itself
    #[arg(long, default_value_t = 5_000, value_parser = size(1..=1_000_000))]
    pub batch_max_records: usize,
    /// Maximum size of a write before compression, in bytes; a larger message is written by itself
    #[arg(long, default_value_t = 2 * 1024 * 1024, value_parser = size(1..=64 << 20))]
    pub batch_max_bytes: usize,
    /// Time that a batch waits for more records after its first one, if no other batch is being written
    #[arg(long, default_value = "5ms", value_parser = duration)]
    pub linger: Duration,
    /// As --linger, but while other batches are being written, so batches grow if the database is slow; at least --linger
    #[arg(long, default_value = "50ms", value_parser = duration)]
    pub linger_busy: Duration,
    /// Maximum number of concurrent writes, each on its own connection
    #[arg(long, default_value_t = 4, value_parser = size(1..=64))]
    pub writes_in_flight: usize,
    /// Maximum total size of records that are read and not written yet, in bytes; above it the sink pauses reading
    #[arg(long, default_value_t = 16 * 1024 * 1024, value_parser = size(64 * 1024..=1 << 32))]
    pub buffer_max_bytes: usize,
    /// Maximum total size of messages that are prefetched from Kafka, in bytes
    #[arg(long, default_value_t = 8 * 1024 * 1024, value_parser = size(1024 * 1024..=1 << 30))]
    pub prefetch_max_bytes: usize,
    /// gzip level of writes: 0 disables compression, 1 is the fastest, 9 the smallest
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9))]
    pub gzip_level: u32,
    /// Topic for lines that cannot be written; `{topic}` is replaced by the topic of the line
    #[arg(long, default_value = "{topic}.dead", value_name = "TOPIC")]
    pub dead_letter_topic: String,
    /// Interval of offset commits
    #[arg(long, default_value = "500ms", value_parser = positive_duration)]
    pub commit_interval: Duration,
    /// Time without a heartbeat after which Kafka assigns the partitions of a sink to other members
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub session_timeout: Duration,
    /// Timeout of a connection to InfluxDB
    #[arg(long, default_value = "5s", value_parser = positive_duration)]
    pub influxdb_connect_timeout: Duration,
    /// Timeout of a write
    #[arg(long, default_value = "30s", value_parser = positive_duration)]
    pub write_timeout: Duration,
    /// Pause after the first failure; it doubles with each further one
    #[arg(long, default_value = "100ms", value_parser = positive_duration)]
    pub backoff_min: Duration,
    /// Maximum pause after a failure. If InfluxDB requests a longer one (Retry-After), the sink waits that long, at most a minute
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub backoff_max: Duration,
    /// Time after SIGTERM, or after partitions are revoked, for writing the records that were read
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub drain_timeout: Duration,
    /// Address and port for /healthz, /readyz and /metrics; port 0 selects a free one
    #[arg(long, default_value = "127.0.0.1:8081")]
    pub admin_listen: SocketAddr,
    #[command(flatten)]
    pub security: SecuritySettings,
}

/// Start position in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StartOffset {
    Earliest,
    Latest,
}

/// A flag that conflicts with others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {problem}")]
pub struct SettingError {
    pub flag: &'static str,
    problem: String,
}

impl SettingError {
    fn new(flag: &'static str, problem: String) -> Self {
        Self { flag, problem }
    }
}

/// The placeholder of the source topic in `--dead-letter-topic`.
const TOPIC_PLACE: &str = "{topic}";

impl SinkSettings {
    /// Checks the flags together.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let is_source = |topic: &&String| self.dead_letter_topic(topic) == **topic;
        if let Some(topic) = self.topic.iter().find(is_source) {
            let problem = format!("expected a topic that is not read, found {topic:?}");
            return Err(SettingError::new("--dead-letter-topic", problem));
        }
        let dead = self.dead_letter_topic("x");
        let names = (self.topic.iter().map(|topic| ("--topic", topic)))
            .chain(
                self.topic_prefix
                    .iter()
                    .map(|prefix| ("--topic-prefix", prefix)),
            )
            .chain([("--dead-letter-topic", &dead)]);
        if let Some((flag, name)) = { names }.find(|(_, name)| !is_name(name)) {
            let problem = format!(
                "expected 1 to 249 letters, digits, dots, underscores and hyphens, found {name:?}"
            );
            return Err(SettingError::new(flag, problem));
        }
        if self.backoff_min > self.backoff_max {
            let problem = format!(
                "expected at most --backoff-max ({:?}), found {:?}",
                self.backoff_max, self.backoff_min
            );
            return Err(SettingError::new("--backoff-min", problem));
        }
        let session_ms = self.session_timeout.as_millis();
        if !(1_000..=3_600_000).contains(&session_ms) {
            let problem = format!("expected 1s to 1h, found {:?}", self.session_timeout);
            return Err(SettingError::new("--session-timeout", problem));
        }
        Ok(())
    }

    /// The dead-letter topic of a topic.
    pub(crate) fn dead_letter_topic(&self, topic: &str) -> String {
        self.dead_letter_topic.replace(TOPIC_PLACE, topic)
    }

    /// The subscription in the format of librdkafka.
    pub(crate) fn subscription(&self) -> Vec<String> {
        match &self.topic_prefix {
            Some(prefix) => vec![format!("^{}.*", literal(prefix))],
            None => self.topic.clone(),
        }
    }

    /// Regular expression of excluded topics whose names have the prefix.
    pub(crate) fn left_out(&self) -> Option<String> {
        self.topic_prefix.as_ref()?;
        let parts: Vec<String> = self
            .dead_letter_topic
            .split(TOPIC_PLACE)
            .map(literal)
            .collect();
        Some(format!("^{}$", parts.join(".*")))
    }
}

/// A topic's name as a regular expression that matches only it.
fn literal(name: &str) -> String {
    name.replace('.', "\\.")
}

/// Whether Kafka accepts the text as a topic name or a part of one.
fn is_name(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty() && text.len() <= 249 && text.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        settings: SinkSettings,
    }

    fn parse(flags: &[&str]) -> Result<SinkSettings, clap::Error> {
        let needed = [
            "sink",
            "--kafka-brokers=a:1",
            "--influxdb-url=http://a",
            "--influxdb-org=o",
            "--influxdb-bucket=b",
        ];
        let program = Program::try_parse_from(needed.iter().chain(flags))?;
        Ok(program.settings)
    }

    #[test]
    fn defaults_are_valid() {
        let settings = parse(&["--topic=plant"]).unwrap();
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.dead_letter_topic("plant"), "plant.dead");
        assert_eq!(settings.subscription(), ["plant"]);
        assert_eq!(settings.left_out(), None);
    }

    #[test]
    fn a_prefix_excludes_dead_letters() {
        let settings = parse(&["--topic-prefix=lab.a-"]).unwrap();
        assert_eq!(settings.subscription(), ["^lab\\.a-.*"]);
        assert_eq!(settings.left_out().as_deref(), Some("^.*\\.dead$"));
    }

    #[test]
    fn error_names_the_wrong_flag() {
        let check = |flags: &[&str], flag: &str| {
            let flags: Vec<&str> = flags.iter().copied().chain(["--topic=plant"]).collect();
            let error = parse(&flags).unwrap().check().unwrap_err();
            assert_eq!(error.flag, flag, "{error}");
        };
        check(&["--dead-letter-topic=plant"], "--dead-letter-topic");
        check(&["--topic=a b"], "--topic");
        check(&["--dead-letter-topic=a/{topic}"], "--dead-letter-topic");
        check(&["--backoff-min=3s"], "--backoff-min");
        check(&["--session-timeout=2ms"], "--session-timeout");
    }

    #[test]
    fn zero_is_refused_for_times_that_must_be_positive() {
        for flag in [
            "backoff-min",
            "commit-interval",
            "influxdb-connect-timeout",
            "write-timeout",
        ] {
            let error = parse(&["--topic=plant", &format!("--{flag}=0s")]).unwrap_err();
            assert!(
                error.to_string().contains("expected more than 0"),
                "{error}"
            );
        }
    }
}
