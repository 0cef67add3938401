//! The thread that reads from Kafka: adds messages to the backlog, and commits offsets up to the first unwritten message.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, ClientContext, Offset, TopicPartitionList,
    client::OAuthToken,
    config::RDKafkaLogLevel,
    consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance},
    error::{KafkaError, KafkaResult, RDKafkaErrorCode},
    message::{BorrowedMessage, Message},
};
use waggle_kafka::refusal_reason;
use waggle_service::log;

use crate::{
    backlog::Arrived,
    error::{SinkError, kafka_error},
    health::Check,
    reads::parsed_message::ParsedMessage,
    settings::StartOffset,
    shared::Shared,
};

/// Timeout of a poll, and interval of checks for a stop.
const POLL: Duration = Duration::from_millis(100);
/// Longest time between polls, besides `--drain-timeout` (Kafka's default). A sink that polls later loses its partitions.
const POLLED_WITHIN: Duration = Duration::from_secs(300);
/// How long the backlog may be full before partitions are paused, which drops prefetched messages.
const PAUSE_AFTER: Duration = Duration::from_millis(500);
/// Timeout of the last commit.
const LAST_COMMIT_WITHIN: Duration = Duration::from_secs(5);
/// Most prefetched messages of librdkafka, each with an overhead.
const READY_MESSAGES: &str = "20000";

/// The consumer with its callbacks.
pub(crate) type Group = BaseConsumer<Context>;

/// Joins the group, with static membership if there is an id.
pub(crate) fn join(shared: &Arc<Shared>, instance: Option<&str>) -> Result<Group, SinkError> {
    let settings = &shared.settings;
    let context = Context {
        shared: Arc::clone(shared),
    };
    let group: Group = config(shared, instance)
        .create_with_context(context)
        .map_err(kafka_error("creating a consumer"))?;
    let subscription = settings.subscription();
    let topics: Vec<&str> = subscription.iter().map(String::as_str).collect();
    group
        .subscribe(&topics)
        .map_err(kafka_error("subscribing"))?;
    Ok(group)
}

fn config(shared: &Shared, instance: Option<&str>) -> ClientConfig {
    let settings = &shared.settings;
    let session_ms = settings.session_timeout.as_millis();
    let poll_ms = (settings.drain_timeout + POLLED_WITHIN)
        .max(settings.session_timeout)
        .as_millis();
    let prefetch_kbytes = settings.prefetch_max_bytes / 1024;
    let offset_reset = match settings.offset_reset {
        StartOffset::Earliest => "earliest",
        StartOffset::Latest => "latest",
    };
    let mut config = shared.access.client_config();
    config
        .set("client.id", "waggle-sink")
        .set("group.id", &settings.group)
        .set("auto.offset.reset", offset_reset)
        // The sink itself commits what is written.
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", session_ms.to_string())
        // A rebalance waits for pending writes between two polls.
        .set("max.poll.interval.ms", poll_ms.to_string())
        .set(
            "heartbeat.interval.ms",
            (session_ms / 4).clamp(100, 3_000).to_string(),
        )
        // Bounds memory: this much is prefetched, plus one answer of a broker.
        .set("queued.max.messages.kbytes", prefetch_kbytes.to_string())
        .set("queued.min.messages", READY_MESSAGES)
        .set(
            "fetch.max.bytes",
            (prefetch_kbytes * 1024 / 2).max(1024 * 1024).to_string(),
        )
        // The default of a second would delay messages after the queue was full.
        .set("fetch.queue.backoff.ms", "5")
        .set("fetch.error.backoff.ms", "100")
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500")
        // Discovery of new topics and partitions.
        .set("topic.metadata.refresh.interval.ms", "10000");
    if let Some(instance) = instance {
        config.set("group.instance.id", instance);
    }
    if let Some(left_out) = settings.left_out() {
        config.set("topic.blacklist", left_out);
    }
    config
}

/// Reads until `stop` is set; then waits until what was read is written, at most `--drain-timeout`, and commits it. If the group
/// expels the sink, it ends at once with the reason, because it cannot commit any more.
pub(crate) fn run(shared: &Shared, group: &Group, stop: &AtomicBool) -> Option<String> {
    let mut reader = Reader {
        shared,
        group,
        reading: ParsedMessage::default(),
        is_paused: false,
        lost: None,
        committed: Instant::now(),
    };
    while !stop.load(Ordering::Relaxed) && reader.lost.is_none() {
        reader.poll_messages();
    }
    if reader.lost.is_none() {
        reader.drain();
    }
    reader.lost
}

struct Reader<'a> {
    shared: &'a Shared,
    group: &'a Group,
    reading: ParsedMessage,
    is_paused: bool,
    /// Why the group expelled the sink.
    lost: Option<String>,
    committed: Instant,
}

impl Reader<'_> {
    /// Polls for messages and commits if that is due.
    fn poll_messages(&mut self) {
        let shared = self.shared;
        let has_no_room =
            shared.health.is_failing(Check::Access) || !shared.backlog.wait_for_room(PAUSE_AFTER);
        self.pause(has_no_room);
        let since = Instant::now();
        // Polls even if there is no room for messages, to stay in the group.
        let mut polled = self.group.poll(POLL);
        while let Some(event) = polled.take() {
            let has_room = match event {
                Ok(message) => self.take(&message),
                Err(error) => {
                    self.handle_error(&error);
                    false
                }
            };
            if has_room && since.elapsed() < POLL {
                polled = self.group.poll(Duration::ZERO);
            }
        }
        if self.committed.elapsed() >= shared.settings.commit_interval {
            self.committed = Instant::now();
            shared.commit(self.group, CommitMode::Async);
        }
    }

    fn take(&mut self, message: &BorrowedMessage<'_>) -> bool {
        let value = message.payload().unwrap_or_default();
        self.reading.read(value);
        self.shared
            .metrics
            .read(value.len(), self.reading.lines.len());
        let arrived = Arrived {
            topic: message.topic(),
            partition: message.partition(),
            offset: message.offset(),
            value,
            reading: &self.reading,
        };
        self.shared.backlog.add(&arrived, Instant::now())
    }

    fn handle_error(&mut self, error: &KafkaError) {
        let health = &self.shared.health;
        let problem = format!("reading from Kafka: {error}");
        if matches!(error, KafkaError::MessageConsumptionFatal(_)) {
            self.lost = Some(problem);
            return;
        }
        match error.rdkafka_error_code() {
            Some(
                RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::TopicAuthorizationFailed,
            ) => health.fail(Check::Topics, &problem),
            // Connection errors; see `Context::error`.
            Some(
                RDKafkaErrorCode::AllBrokersDown
                | RDKafkaErrorCode::BrokerTransportFailure
                | RDKafkaErrorCode::OperationTimedOut
                | RDKafkaErrorCode::Resolve
                | RDKafkaErrorCode::Authentication
                | RDKafkaErrorCode::SSL,
            ) => {}
            _ => health.fail(Check::Kafka, &problem),
        }
    }

    /// Pauses or resumes the assigned partitions. Partitions that are assigned while there is no room are paused by the next
    /// poll.
    fn pause(&mut self, has_no_room: bool) {
        if !has_no_room && !self.is_paused {
            return;
        }
        let changed = self.group.assignment().and_then(|ours| {
            if has_no_room {
                self.group.pause(&ours)
            } else {
                self.group.resume(&ours)
            }
        });
        match changed {
            Ok(()) => self.is_paused = has_no_room,
            Err(error) => self.handle_error(&error),
        }
    }

    fn drain(&mut self) {
        let shared = self.shared;
        self.pause(true);
        shared.backlog.drain_quickly();
        if !shared
            .backlog
            .wait_until_empty(shared.settings.drain_timeout)
        {
            log::warn(format_args!(
                "not all that was read is written after {:?}; the next reader of the partitions reads it again",
                shared.settings.drain_timeout
            ));
        }
        let begun = Instant::now();
        while !shared.backlog.to_commit().is_empty() && begun.elapsed() < LAST_COMMIT_WITHIN {
            shared.commit(self.group, CommitMode::Async);
            let round = Instant::now();
            while !shared.backlog.to_commit().is_empty() && round.elapsed() < LAST_COMMIT_WITHIN / 5
            {
                // The next reader of the partition reads messages again that arrive now.
                drop(self.group.poll(Duration::from_millis(10)));
            }
        }
    }
}

impl Shared {
    /// Commits the offsets up to which everything is written.
    fn commit(&self, group: &Group, mode: CommitMode) {
        let mut offsets = TopicPartitionList::new();
        for (source, offset) in self.backlog.to_commit() {
            let added = offsets.add_partition_offset(
                &source.topic,
                source.partition,
                Offset::Offset(offset),
            );
            if let Err(error) = added {
                self.health
                    .fail(Check::Commit, &format!("committing: {error}"));
            }
        }
        if offsets.count() == 0 {
            // Failed commits belonged to partitions that are revoked now.
            self.health.pass(Check::Commit);
            return;
        }
        if let Err(error) = group.commit(&offsets, mode) {
            self.commit_failed(&error);
        }
    }

    fn commit_failed(&self, error: &KafkaError) {
        self.metrics.commit_failures.fetch_add(1, Ordering::Relaxed);
        self.health
            .fail(Check::Commit, &format!("committing: {error}"));
    }
}

/// Callbacks of librdkafka, on the thread that polls.
pub(crate) struct Context {
    shared: Arc<Shared>,
}

impl Context {
    /// Notes what an error or a log line says about credentials or certificates.
    fn note_refusal(&self, error: Option<&KafkaError>, text: &str) {
        if let Some(refusal) = refusal_reason(error, text) {
            self.shared.health.fail(Check::KafkaAccess, &refusal);
        }
    }
}

impl ClientContext for Context {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        Ok(self.shared.access.token()?)
    }

    /// What else is only logged is not said: the connection is made again.
    fn log(&self, level: RDKafkaLogLevel, _: &str, text: &str) {
        if level as i32 <= RDKafkaLogLevel::Warning as i32 {
            self.note_refusal(None, text);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.note_refusal(Some(&error), reason);
        // A single broken connection is no failure: the next broker is tried, and `lag` shows whether Kafka is available.
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            (self.shared.health).fail(Check::Kafka, &format!("Kafka is unavailable: {reason}"));
        }
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, group: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let shared = &self.shared;
        shared.metrics.rebalances.fetch_add(1, Ordering::Relaxed);
        match rebalance {
            Rebalance::Assign(given) => {
                for (topic, partition) in partitions(given) {
                    shared.backlog.assign(&topic, partition);
                }
                shared.health.pass(Check::Group);
            }
            Rebalance::Revoke(taken) => {
                let taken = partitions(taken);
                // Finishes pending writes if the database is available; the next reader of the partition reads the rest again.
                if shared.database_is_there() && !shared.backlog.has_ended() {
                    shared
                        .backlog
                        .wait_until_written(&taken, shared.settings.drain_timeout);
                }
                shared.commit(group, CommitMode::Sync);
                for (topic, partition) in taken {
                    shared.backlog.revoke(&topic, partition);
                }
            }
            Rebalance::Error(error) => {
                shared.health.fail(
                    Check::Group,
                    &format!("sharing partitions in the group: {error}"),
                );
            }
        }
    }

    fn post_rebalance(&self, group: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        // A partition may be assigned in the paused state of an earlier assignment; it is paused again if there is no room.
        if let Rebalance::Assign(given) = rebalance
            && let Err(error) = group.resume(given)
        {
            let problem = format!("resuming partitions: {error}");
            self.shared.health.fail(Check::Kafka, &problem);
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        if let Err(error) = result {
            // An empty commit is no failure.
            if error.rdkafka_error_code() != Some(RDKafkaErrorCode::NoOffset) {
                self.shared.commit_failed(&error);
            }
            return;
        }
        let mut is_whole = true;
        for element in offsets.elements() {
            match (element.error(), element.offset()) {
                (Ok(()), Offset::Offset(offset)) => {
                    (self.shared.backlog).on_commit(element.topic(), element.partition(), offset);
                }
                (Err(error), _) => {
                    is_whole = false;
                    self.shared.commit_failed(&error);
                }
                _ => {}
            }
        }
        self.shared.metrics.commits.fetch_add(1, Ordering::Relaxed);
        if is_whole {
            self.shared.health.pass(Check::Commit);
        }
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<(String, i32)> {
    let elements = list.elements();
    elements
        .iter()
        .map(|element| (element.topic().to_owned(), element.partition()))
        .collect()
}
