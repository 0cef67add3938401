//! The probe of a Kafka topic: a consumer on its own thread reads every message. A message's value is one line or several.
//!
//! If the topic records when the broker appended a message (`message.timestamp.type=LogAppendTime`), a record has two delays:
//! until the broker had it, to the end of the broker's millisecond, and until a consumer had it. The two times also show whether
//! the probe keeps up: a message that is old when it is read waited for the probe, not for the broker.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use memchr::memchr;
use rdkafka::{
    ClientConfig, Message, Offset, Timestamp, TopicPartitionList,
    consumer::{BaseConsumer, Consumer},
    error::KafkaError,
    message::BorrowedMessage,
};
use tokio::time::{Instant, sleep};

use super::{
    config::{ProbeConfig, ProbeError},
    lines::Markers,
    log::{Observation, ProbeLog, RecordTimes},
    offset::markers,
    pace::Pace,
};
use crate::driver::Failure;

/// Timeout for one answer of the broker.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Pause between two attempts to find the topic.
const AGAIN_EVERY: Duration = Duration::from_millis(100);
/// How long the thread waits for the next message before it checks whether it should end.
const WAIT: Duration = Duration::from_millis(20);
/// Messages are logged in batches of at most this duration.
const BATCH_AT_MOST: Duration = Duration::from_millis(2);
/// A message older than this when it is read waited for the probe.
const OLD_NS: u64 = 250_000_000;
const MS_NS: u64 = 1_000_000;

/// A topic with its reader thread; the thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Kafka {
    shared: Arc<Shared>,
    poll: Duration,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    /// The topic is to be read from the beginning.
    begins_anew: AtomicBool,
    state: Mutex<State>,
}

/// The state that the thread shares.
#[derive(Debug)]
struct State {
    log: ProbeLog,
    pace: Pace,
    run: Vec<u8>,
    markers: Markers,
    /// Which partitions have been read to their end, by their number.
    at_end: Vec<bool>,
    /// Why nothing can be read at present.
    problem: Option<String>,
    problems: u64,
    /// Messages without a timestamp of the broker.
    without_append_time: u64,
}

impl Kafka {
    /// Starts to read at the first message that was appended since the load started.
    pub(crate) fn start(
        config: &ProbeConfig<'_>,
        brokers: &[SocketAddr],
        topic: &str,
    ) -> Result<Self, Failure> {
        let brokers: Vec<String> = brokers.iter().map(ToString::to_string).collect();
        let consumer = consumer(&brokers.join(","), &config.run)
            .map_err(|why| Failure::new(format!("probe \"{}\": {why}", config.probe.name)))?;
        let shared = Arc::new(Shared {
            ends: AtomicBool::new(false),
            begins_anew: AtomicBool::new(false),
            state: Mutex::new(State {
                log: ProbeLog::new(config),
                pace: Pace::new(),
                run: config.run.as_bytes().to_vec(),
                markers: markers(&config.probe.extract, (None, None)),
                at_end: Vec::new(),
                problem: Some(format!("topic \"{topic}\" was not read yet")),
                problems: 0,
                without_append_time: 0,
            }),
        });
        let (of_thread, topic) = (Arc::clone(&shared), topic.to_owned());
        let start_ms = config.since_ns / MS_NS;
        let thread = thread::Builder::new()
            .name(format!("probe-{}", config.probe.name))
            .spawn(move || of_thread.read(&consumer, &topic, start_ms))
            .map_err(|why| Failure::new(format!("cannot start a thread for a probe: {why}")))?;
        Ok(Self {
            shared,
            poll: config.delivery.poll_interval,
            thread: Some(thread),
        })
    }

    /// Makes the thread read from the beginning.
    pub(crate) fn forget(&mut self) {
        let mut state = self.shared.state();
        state.log.restart();
        state.at_end = vec![false];
        self.shared.begins_anew.store(true, Ordering::Release);
    }

    /// Returns the state of the thread. If it has not reached the end, waits one poll interval first.
    pub(crate) async fn poll(&mut self) -> Result<bool, ProbeError> {
        let (problem, at_end) = {
            let state = self.shared.state();
            (state.problem.clone(), self.shared.is_at_end(&state))
        };
        if let Some(problem) = problem {
            return Err(ProbeError::Kafka(problem));
        }
        if !at_end {
            sleep(self.poll).await;
        }
        let state = self.shared.state();
        Ok(!self.shared.is_at_end(&state))
    }

    pub(crate) fn log<T>(&self, of: impl FnOnce(&ProbeLog) -> T) -> T {
        of(&self.shared.state().log)
    }

    pub(crate) fn pace(&self) -> Pace {
        self.shared.state().pace
    }

    pub(crate) fn remark(&self) -> Option<String> {
        let state = self.shared.state();
        let mut remarks = Vec::new();
        if state.without_append_time > 0 {
            remarks.push(format!(
                "{} messages of the topic have no time of arrival (message.timestamp.type is not LogAppendTime)",
                state.without_append_time
            ));
        }
        if state.problems > 0 {
            remarks.push(format!(
                "the consumer had {} errors and continued",
                state.problems
            ));
        }
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed where it happened.
            thread.join().ok();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Whether the topic has been read to its end.
    fn is_at_end(&self, state: &State) -> bool {
        !self.begins_anew.load(Ordering::Acquire) && state.is_at_end()
    }

    /// The main loop of the thread.
    fn read(&self, consumer: &BaseConsumer, topic: &str, start_ms: u64) {
        self.begin(consumer, topic, start_ms);
        while !self.ends() {
            if self.begins_anew.load(Ordering::Acquire) {
                self.begin(consumer, topic, start_ms);
                self.begins_anew.store(false, Ordering::Release);
            }
            if let Some(first) = consumer.poll(WAIT) {
                self.batch(consumer, first);
            }
        }
    }

    /// Starts to read at the first message that was appended since `start_ms`, once the broker gives its offset.
    fn begin(&self, consumer: &BaseConsumer, topic: &str, start_ms: u64) {
        while !self.ends() {
            match assign(consumer, topic, start_ms) {
                Ok(partitions) => {
                    let mut state = self.state();
                    state.at_end = vec![false; partitions];
                    state.problem = None;
                    return;
                }
                Err(problem) => self.state().problem = Some(problem),
            }
            thread::sleep(AGAIN_EVERY);
        }
    }

    /// Logs a message and all others that are already buffered.
    fn batch(&self, consumer: &BaseConsumer, first: Result<BorrowedMessage<'_>, KafkaError>) {
        let start = Instant::now();
        let mut state = self.state();
        if self.begins_anew.load(Ordering::Acquire) {
            // A message of the first read would count as a copy in the second.
            return;
        }
        state.log.update_window();
        let measured = state.log.measured_phase();
        state.pace.set_measured(measured);
        state.pace.polls += 1;
        let mut oldest_ns = state.take(first);
        let mut more_waits = true;
        while more_waits && start.elapsed() <= BATCH_AT_MOST {
            match consumer.poll(Duration::ZERO) {
                Some(message) => oldest_ns = oldest_ns.max(state.take(message)),
                None => more_waits = false,
            }
        }
        // If the client has nothing buffered, a late message was late at the broker.
        let is_held_up = start.elapsed() > Duration::from_nanos(OLD_NS);
        if more_waits && (oldest_ns > OLD_NS || is_held_up) {
            state.pace.is_behind(start);
        } else {
            state.pace.at_end(start, false);
        }
        state.pace.gap(start.elapsed() + Duration::from_millis(1));
    }
}

impl State {
    fn is_at_end(&self) -> bool {
        self.at_end.iter().all(|at_end| *at_end)
    }

    /// Logs a message, and returns for how many nanoseconds it waited at the broker.
    fn take(&mut self, message: Result<BorrowedMessage<'_>, KafkaError>) -> u64 {
        match message {
            Ok(message) => {
                self.problem = None;
                self.note_position(message.partition(), false);
                self.message(&message)
            }
            Err(KafkaError::PartitionEOF(partition)) => {
                self.problem = None;
                self.note_position(partition, true);
                0
            }
            Err(problem) => {
                self.problems += 1;
                self.problem = Some(problem.to_string());
                self.pace.note_failure();
                0
            }
        }
    }

    fn note_position(&mut self, partition: i32, end: bool) {
        let index = usize::try_from(partition).ok();
        if let Some(at_end) = index.and_then(|index| self.at_end.get_mut(index)) {
            *at_end = end;
        }
    }

    fn message(&mut self, message: &BorrowedMessage<'_>) -> u64 {
        let received_ns = self.log.clock.unix_ns();
        // The end of the broker's millisecond, so that no record arrives before it was sent.
        let arrived_ns = match message.timestamp() {
            Timestamp::LogAppendTime(ms) => u64::try_from(ms).ok().map(|ms| (ms + 1) * MS_NS - 1),
            _ => None,
        };
        self.without_append_time += u64::from(arrived_ns.is_none());
        let mut rest = message.payload().unwrap_or_default();
        self.pace.bytes_read += rest.len() as u64;
        // The broker shows no message before it has appended it.
        let appended_ns = arrived_ns.map_or(0, |arrived_ns| arrived_ns + 1 - MS_NS);
        let caught_up_ns = self.log.clock.unix_ns_at(self.pace.caught_up());
        let times = RecordTimes {
            received_ns,
            since_ns: caught_up_ns.max(appended_ns),
            arrived_ns,
        };
        let mut is_known = !rest.is_empty();
        while !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[], |end| &rest[end + 1..]);
            if line.is_empty() {
                continue;
            }
            self.pace.rows_read += 1;
            match self.markers.stamp(line, &self.run) {
                Some(stamp) => {
                    let observation = self.log.record(stamp, times);
                    is_known &= observation == Observation::StillThere;
                }
                None => {
                    is_known = false;
                    self.log.note_foreign_record();
                }
            }
        }
        // A record that is read again is old because it was read before.
        if is_known {
            return 0;
        }
        arrived_ns.map_or(0, |arrived_ns| received_ns.saturating_sub(arrived_ns))
    }
}

fn consumer(brokers: &str, run: &str) -> Result<BaseConsumer, String> {
    let settings = [
        ("bootstrap.servers", brokers),
        ("client.id", "waggle-probe"),
        // The client requires a group. Partitions are assigned and nothing is committed, so no group is joined.
        ("group.id", run),
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("allow.auto.create.topics", "false"),
        ("auto.offset.reset", "earliest"),
        ("enable.partition.eof", "true"),
        ("fetch.wait.max.ms", "100"),
        ("fetch.queue.backoff.ms", "10"),
        ("reconnect.backoff.max.ms", "500"),
        // Messages buffered in memory for the thread.
        ("queued.max.messages.kbytes", "32768"),
    ];
    let mut config = ClientConfig::new();
    for (name, value) in settings {
        config.set(name, value);
    }
    config
        .create()
        .map_err(|why| format!("cannot create a consumer: {why}"))
}

/// Assigns every partition of the topic from the first message that was appended since `start_ms`; returns their number.
fn assign(consumer: &BaseConsumer, topic: &str, start_ms: u64) -> Result<usize, String> {
    let topic_error = |why: KafkaError| format!("topic \"{topic}\": {why}");
    let metadata = consumer
        .fetch_metadata(Some(topic), ANSWER_WITHIN)
        .map_err(topic_error)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    let partitions = found.map_or(0, |found| found.partitions().len());
    if partitions == 0 {
        return Err(format!("there is no topic \"{topic}\""));
    }
    let numbers = 0..i32::try_from(partitions).unwrap_or(i32::MAX);
    let mut ends = Vec::with_capacity(partitions);
    let mut by_time = TopicPartitionList::new();
    let start = Offset::Offset(i64::try_from(start_ms).unwrap_or(i64::MAX));
    for partition in numbers.clone() {
        // Read before the offsets by time: if nothing was appended by then, the next message will be at this offset.
        let (_, end) = consumer
            .fetch_watermarks(topic, partition, ANSWER_WITHIN)
            .map_err(topic_error)?;
        ends.push(end);
        by_time
            .add_partition_offset(topic, partition, start)
            .map_err(topic_error)?;
    }
    let found = consumer
        .offsets_for_times(by_time, ANSWER_WITHIN)
        .map_err(topic_error)?;
    let mut assigned = TopicPartitionList::new();
    for (partition, end) in numbers.zip(ends) {
        let by_time = found.find_partition(topic, partition);
        let from = match by_time.map(|element| element.offset()) {
            Some(Offset::Offset(offset)) => offset,
            _ => end,
        };
        assigned
            .add_partition_offset(topic, partition, Offset::Offset(from))
            .map_err(topic_error)?;
    }
    consumer.assign(&assigned).map_err(topic_error)?;
    Ok(partitions)
}
