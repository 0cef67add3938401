//! What an operator can set about the sink: every limit is a flag with a default.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use waggle_flags::{duration, positive_duration, size};

/// Flags of `waggle-gateway sink`.
#[derive(Debug, Clone, clap::Args)]
pub struct SinkSettings {
    /// Kafka's brokers
    #[arg(long, value_name = "HOST:PORT,…")]
    pub kafka_brokers: String,
    /// A topic to read; may be given several times
    #[arg(long, value_name = "TOPIC", required_unless_present = "topic_prefix")]
    pub topic: Vec<String>,
    /// Read every topic whose name begins so, also those that come later; dead-letter topics are left out
    #[arg(long, value_name = "TEXT", conflicts_with = "topic")]
    pub topic_prefix: Option<String>,
    /// Consumer group; all sinks of one group share the partitions
    #[arg(long, default_value = "waggle-sink")]
    pub group: String,
    /// A name of this sink that outlives it, unique in the group: started again with the same name it goes on with its
    /// partitions at once
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Where to begin in partitions that the group has not read yet
    #[arg(long, value_enum, default_value_t = StartOffset::Earliest)]
    pub from: StartOffset,
    /// The database, e.g. <http://influxdb:8086>
    #[arg(long, value_name = "URL")]
    pub influxdb_url: String,
    /// Organisation in the database
    #[arg(long)]
    pub org: String,
    /// Bucket in the database
    #[arg(long)]
    pub bucket: String,
    /// File with the token; it is read again when the database refuses the token. Without it, `INFLUX_TOKEN` is taken from
    /// the environment
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Lines of one write, unless a single message has more
    #[arg(long, default_value_t = 5_000, value_parser = size(1..=1_000_000))]
    pub batch_max_records: usize,
    /// Bytes of one write before compression, unless a single message has more
    #[arg(long, default_value_t = 2 * 1024 * 1024, value_parser = size(1..=64 << 20))]
    pub batch_max_bytes: usize,
    /// Time a batch waits for more records after its first one, if no other is being written
    #[arg(long, default_value = "5ms", value_parser = duration)]
    pub batch_delay: Duration,
    /// The same while others are being written, so that batches grow if the database is slow; never less than
    /// --batch-delay
    #[arg(long, default_value = "50ms", value_parser = duration)]
    pub batch_delay_behind: Duration,
    /// Writes under way at once, each on a connection of its own
    #[arg(long, default_value_t = 4, value_parser = size(1..=64))]
    pub writes_in_flight: usize,
    /// Bytes that were read and are not written yet; beyond it nothing more is read
    #[arg(long, default_value_t = 16 * 1024 * 1024, value_parser = size(64 * 1024..=1 << 32))]
    pub unwritten_max_bytes: usize,
    /// Bytes of messages that are fetched from Kafka ahead of reading
    #[arg(long, default_value_t = 8 * 1024 * 1024, value_parser = size(1024 * 1024..=1 << 30))]
    pub fetched_max_bytes: usize,
    /// Compression of writes by gzip: 0 is none, 1 the fastest, 9 the smallest
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9))]
    pub gzip: u32,
    /// Topic for lines that cannot be written; `{topic}` is replaced by the topic they came from
    #[arg(long, default_value = "{topic}.dead", value_name = "TOPIC")]
    pub dead_letter_topic: String,
    /// Time between commits of what was written
    #[arg(long, default_value = "500ms", value_parser = positive_duration)]
    pub commit_interval: Duration,
    /// Time after which Kafka gives the partitions of a sink that is silent to others
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub session_timeout: Duration,
    /// Time for a connection to the database
    #[arg(long, default_value = "5s", value_parser = positive_duration)]
    pub connect_timeout: Duration,
    /// Time for the answer to a write
    #[arg(long, default_value = "30s", value_parser = positive_duration)]
    pub write_timeout: Duration,
    /// Wait after a first failure; it doubles with each further one
    #[arg(long, default_value = "100ms", value_parser = positive_duration)]
    pub back_off_min: Duration,
    /// Longest wait after a failure, unless the database asks for more (then up to a minute)
    #[arg(long, default_value = "2s", value_parser = duration)]
    pub back_off_max: Duration,
    /// Time after SIGTERM, or when partitions are taken away, for what was read to be written
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub drain_timeout: Duration,
    /// Address and port for /healthz, /readyz and /metrics; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8081")]
    pub listen: SocketAddr,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StartOffset {
    Earliest,
    Latest,
}

/// A flag that does not go together with the others.
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

/// What the place of the source topic is called in `--dead-letter-topic`.
const TOPIC_PLACE: &str = "{topic}";

impl SinkSettings {
    /// Checks the flags together.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let is_source = |topic: &&String| self.dead_letter_topic(topic) == **topic;
        if let Some(topic) = self.topic.iter().find(is_source) {
            let problem =
                format!("expected another topic than those that are read, found {topic:?}");
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
        if self.back_off_min > self.back_off_max {
            let problem = format!(
                "expected at most --back-off-max ({:?}), found {:?}",
                self.back_off_max, self.back_off_min
            );
            return Err(SettingError::new("--back-off-min", problem));
        }
        let session_ms = self.session_timeout.as_millis();
        if !(1_000..=3_600_000).contains(&session_ms) {
            let problem = format!("expected 1s to 1h, found {:?}", self.session_timeout);
            return Err(SettingError::new("--session-timeout", problem));
        }
        Ok(())
    }

    /// The topic for lines of a topic that cannot be written.
    pub(crate) fn dead_letter_topic(&self, topic: &str) -> String {
        self.dead_letter_topic.replace(TOPIC_PLACE, topic)
    }

    /// What to subscribe to, as librdkafka takes it.
    pub(crate) fn subscription(&self) -> Vec<String> {
        match &self.topic_prefix {
            Some(prefix) => vec![format!("^{}.*", literal(prefix))],
            None => self.topic.clone(),
        }
    }

    /// Expression for the topics that are not read although their names begin so.
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

/// A topic's name as a regular expression that means nothing but itself.
fn literal(name: &str) -> String {
    name.replace('.', "\\.")
}

/// Whether Kafka takes it as (a part of) a topic's name.
fn is_name(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty() && text.len() <= 249 && text.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        settings: SinkSettings,
    }

    fn parse(flags: &[&str]) -> Result<SinkSettings, clap::Error> {
        let needed = [
            "sink",
            "--kafka-brokers=a:1",
            "--influxdb-url=http://a",
            "--org=o",
            "--bucket=b",
        ];
        let program = Program::try_parse_from(needed.iter().chain(flags))?;
        Ok(program.settings)
    }

    #[test]
    fn the_defaults_go_together() {
        let settings = parse(&["--topic=plant"]).unwrap();
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.dead_letter_topic("plant"), "plant.dead");
        assert_eq!(settings.subscription(), ["plant"]);
        assert_eq!(settings.left_out(), None);
    }

    #[test]
    fn a_prefix_leaves_dead_letters_out() {
        let settings = parse(&["--topic-prefix=lab.a-"]).unwrap();
        assert_eq!(settings.subscription(), ["^lab\\.a-.*"]);
        assert_eq!(settings.left_out().as_deref(), Some("^.*\\.dead$"));
    }

    #[test]
    fn a_flag_that_does_not_fit_is_named() {
        let check = |flags: &[&str], flag: &str| {
            let flags: Vec<&str> = flags.iter().copied().chain(["--topic=plant"]).collect();
            let error = parse(&flags).unwrap().check().unwrap_err();
            assert_eq!(error.flag, flag, "{error}");
        };
        check(&["--dead-letter-topic=plant"], "--dead-letter-topic");
        check(&["--topic=a b"], "--topic");
        check(&["--dead-letter-topic=a/{topic}"], "--dead-letter-topic");
        check(&["--back-off-min=3s"], "--back-off-min");
        check(&["--session-timeout=2ms"], "--session-timeout");
    }

    #[test]
    fn a_time_that_cannot_be_zero_is_not() {
        for flag in [
            "back-off-min",
            "commit-interval",
            "connect-timeout",
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
