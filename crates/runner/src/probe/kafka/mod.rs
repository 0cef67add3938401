//! The probe of a Kafka topic: a consumer on its own thread reads every message, or under high load a sample of them. A message's
//! value is one line or several.
//!
//! If the topic records when the broker appended a message (`message.timestamp.type=LogAppendTime`), a record has two delays:
//! until the broker had it, to the end of the broker's millisecond, and until a consumer had it. The two times also show whether
//! the probe keeps up: a message that is old when it is read waited for the probe, not for the broker.

mod skipped;
mod state;
mod topic;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rdkafka::{consumer::BaseConsumer, error::KafkaError, message::BorrowedMessage};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};
use waggle_system::components::driver::Failure;

use self::{
    state::{Purpose, State},
    topic::Topic,
};
use super::{
    config::{ProbeConfig, ProbeError},
    log::ProbeLog,
    offset::markers,
    pace::Pace,
    sampling::{Sampling, Turn},
};

/// Pause between two attempts to find the topic.
const AGAIN_EVERY: Duration = Duration::from_millis(100);
/// How long the thread waits for the next message before it checks whether it should end.
const WAIT: Duration = Duration::from_millis(20);
/// How long the thread waits between two windows before it checks the same.
const REST: Duration = Duration::from_millis(5);
/// Messages are logged in batches of at most this duration.
const BATCH_AT_MOST: Duration = Duration::from_millis(2);
/// How long a window waits for its first message.
const SETTLE_AT_MOST: Duration = Duration::from_millis(100);
/// How long the topic is read again to measure the cost of reading.
const COST_TIME: Duration = Duration::from_millis(300);
/// A message older than this when it is read waited for the probe.
const OLD_NS: u64 = 250_000_000;
const MS_NS: u64 = 1_000_000;

/// A topic with its reader thread; the thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Kafka {
    shared: Arc<Shared>,
    poll: Duration,
    topic: Topic,
    /// The last poll has seen the end of the topic.
    pub(crate) has_looked: bool,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    /// How often the topic was to be read from the beginning, and how often this was begun. Two numbers, because it may be asked
    /// for once more while it begins.
    asked_anew: AtomicU64,
    begun_anew: AtomicU64,
    state: Mutex<State>,
}

/// What the thread does next.
struct Next {
    turn: Turn,
    /// Something that was skipped is left to read now.
    has_skipped: bool,
    /// The thread could not read since then.
    held_up_since: Option<Instant>,
}

impl Kafka {
    /// Starts to read at the first message that was appended since the load started.
    pub(crate) fn start(
        config: &ProbeConfig<'_>,
        brokers: &[SocketAddr],
        topic: &str,
    ) -> Result<Self, Failure> {
        let brokers: Vec<String> = brokers.iter().map(ToString::to_string).collect();
        let topic = Topic {
            name: topic.to_owned(),
            brokers: brokers.join(","),
            run: config.run.clone(),
        };
        let consumer = topic
            .consumer()
            .map_err(|why| Failure::new(format!("probe \"{}\": {why}", config.probe.name)))?;
        let mut state = State::new(
            ProbeLog::new(config),
            markers(&config.probe.extract, None, None),
            &config.run,
            Sampling::new(config.sample_limits),
        );
        state.problem = Some(format!("topic \"{}\" was not read yet", topic.name));
        let shared = Arc::new(Shared {
            ends: AtomicBool::new(false),
            asked_anew: AtomicU64::new(0),
            begun_anew: AtomicU64::new(0),
            state: Mutex::new(state),
        });
        let (of_thread, own_topic) = (Arc::clone(&shared), topic.clone());
        let start_ms = config.since_ns / MS_NS;
        let thread = thread::Builder::new()
            .name(format!("probe-{}", config.probe.name))
            .spawn(move || of_thread.read(consumer, &own_topic, start_ms))
            .map_err(|why| Failure::new(format!("cannot start a thread for a probe: {why}")))?;
        Ok(Self {
            shared,
            poll: config.delivery.poll_interval,
            topic,
            has_looked: true,
            thread: Some(thread),
        })
    }

    /// Makes the thread read from the beginning.
    pub(crate) fn forget(&mut self) {
        let mut state = self.shared.state();
        state.forget();
        self.shared.asked_anew.fetch_add(1, Ordering::Release);
    }

    /// The load is over: everything is read from here on, and what was skipped.
    pub(crate) fn end_load(&mut self) {
        self.shared.state().end_load();
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
        let mut state = self.shared.state();
        self.has_looked = state.take_look();
        Ok(!self.shared.is_at_end(&state))
    }

    pub(crate) fn log<T>(&self, reader: impl FnOnce(&ProbeLog) -> T) -> T {
        reader(&self.shared.state().log)
    }

    pub(crate) fn pace(&self) -> Pace {
        self.shared.state().pace
    }

    /// How many different records are in the topic, as far as it is known.
    pub(crate) fn visible(&self) -> u64 {
        self.shared.state().visible()
    }

    /// Whether some records were skipped under load, so that delays are those of a sample.
    pub(crate) fn is_sample(&self) -> bool {
        self.shared.state().is_sample()
    }

    /// When the last message came, if that is known although it was counted later.
    pub(crate) fn last_row(&self) -> Option<Instant> {
        let state = self.shared.state();
        state.last_message.filter(|_| state.is_sample())
    }

    /// Reads the topic again, and returns the bytes; `None` if it cannot be read.
    pub(crate) async fn read_again(&self) -> Option<u64> {
        let starts = self.shared.state().starts.clone();
        let topic = self.topic.clone();
        let (sender, bytes) = oneshot::channel();
        // It ends by itself, whether it is waited for or not.
        thread::spawn(move || sender.send(topic.read_for(&starts, COST_TIME)));
        bytes.await.ok()?
    }

    pub(crate) fn remark(&self) -> Option<String> {
        let state = self.shared.state();
        let mut remarks = Vec::new();
        if state.without_append_time > 0 {
            remarks.push(format!(
                "messages of the topic without a time of arrival (message.timestamp.type is not LogAppendTime): {}",
                state.without_append_time
            ));
        }
        if state.problems > 0 {
            remarks.push(format!(
                "errors after which the consumer continued: {}",
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

    fn begins_anew(&self) -> bool {
        self.asked_anew.load(Ordering::Acquire) != self.begun_anew.load(Ordering::Acquire)
    }

    /// Whether the topic has been read to its end.
    fn is_at_end(&self, state: &State) -> bool {
        !self.begins_anew() && state.is_at_end()
    }

    /// The main loop of the thread.
    fn read(&self, mut consumer: BaseConsumer, topic: &Topic, start_ms: u64) {
        self.begin(&consumer, topic, start_ms);
        // Reads what was skipped, when the load is over.
        let mut second: Option<BaseConsumer> = None;
        while !self.ends() {
            if self.begins_anew() {
                let asked = self.asked_anew.load(Ordering::Acquire);
                second = None;
                match topic.consumer() {
                    Ok(new) => consumer = new,
                    Err(problem) => {
                        self.state().note_problem(problem.to_string());
                        thread::sleep(AGAIN_EVERY);
                        continue;
                    }
                }
                self.begin(&consumer, topic, start_ms);
                self.begun_anew.store(asked, Ordering::Release);
            }
            let Next {
                turn,
                has_skipped,
                held_up_since,
            } = self.next();
            match turn {
                Turn::Window => self.window(&consumer, topic),
                Turn::Rest => thread::sleep(REST),
                Turn::ReadOn | Turn::Skipped(_) if has_skipped => {
                    if let Some(first) = consumer.poll(Duration::ZERO) {
                        self.batch(&consumer, first, held_up_since);
                    }
                    self.read_skipped(&mut second, topic);
                }
                Turn::ReadOn | Turn::Skipped(_) => {
                    second = None;
                    if let Some(first) = consumer.poll(WAIT) {
                        self.batch(&consumer, first, held_up_since);
                    }
                }
            }
        }
    }

    fn next(&self) -> Next {
        let start = Instant::now();
        let mut state = self.state();
        let is_held_up = start.elapsed() > Duration::from_nanos(OLD_NS);
        let bytes = state.pace.bytes_read;
        Next {
            turn: state.sampling.turn(bytes),
            has_skipped: state.sampling.is_over() && !state.skipped.is_empty(),
            held_up_since: is_held_up.then_some(start),
        }
    }

    /// Starts to read at the first message that was appended since `start_ms`, once the broker gives its offset.
    fn begin(&self, consumer: &BaseConsumer, topic: &Topic, start_ms: u64) {
        while !self.ends() {
            let starts = topic.offsets_since(consumer, start_ms).and_then(|starts| {
                topic.assign(consumer, starts.iter().copied().enumerate())?;
                Ok(starts)
            });
            match starts {
                Ok(starts) => return self.state().begin(starts),
                Err(problem) => self.state().problem = Some(problem.to_string()),
            }
            thread::sleep(AGAIN_EVERY);
        }
    }

    /// Skips to the ends of the partitions and reads what comes in a short time. Nothing is fetched until the next window.
    fn window(&self, consumer: &BaseConsumer, topic: &Topic) {
        let began = Instant::now();
        let partitions = self.state().starts.len();
        let ends = match self.skip_to_ends(consumer, topic, partitions) {
            Ok(ends) => ends,
            Err(problem) => {
                self.state().note_problem(problem.to_string());
                return thread::sleep(AGAIN_EVERY);
            }
        };
        let window = {
            let mut state = self.state();
            if self.begins_anew() {
                return;
            }
            state.begin_window(began, &ends);
            state.sampling.window()
        };
        // What came while the client began to fetch has waited for it.
        let mut messages =
            self.read_until(consumer, Instant::now() + SETTLE_AT_MOST, Purpose::Count);
        messages += self.read_until(consumer, Instant::now() + window, Purpose::Follow);
        let mut state = self.state();
        if self.begins_anew() {
            return;
        }
        state.end_window(began, messages);
        if !state.sampling.is_over() {
            let paused = topic.pause(consumer, partitions);
            if let Err(problem) = paused {
                state.note_problem(problem.to_string());
            }
        }
    }

    /// The ends of the partitions, from which the consumer reads on.
    fn skip_to_ends(
        &self,
        consumer: &BaseConsumer,
        topic: &Topic,
        partitions: usize,
    ) -> Result<Vec<i64>, ProbeError> {
        let ends = topic.ends(consumer, partitions)?;
        let ends = self.state().window_starts(&ends);
        topic.seek(consumer, &ends)?;
        topic.resume(consumer, partitions)?;
        Ok(ends)
    }

    /// Reads until then, and returns the number of messages. Those that only count are read until the client has no more of them.
    fn read_until(&self, consumer: &BaseConsumer, until: Instant, purpose: Purpose) -> u64 {
        let mut messages = 0;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let wait = match purpose {
                Purpose::Count if messages > 0 => Duration::ZERO,
                Purpose::Count | Purpose::Follow => left,
            };
            let Some(message) = consumer.poll(wait) else {
                return messages;
            };
            let mut state = self.state();
            if self.begins_anew() {
                return messages;
            }
            messages += u64::from(message.is_ok());
            state.take(message, purpose);
            let is_settled = purpose == Purpose::Count && state.are_partitions_at_end();
            if is_settled || left.is_zero() {
                return messages;
            }
        }
    }

    /// Counts messages that were skipped.
    fn read_skipped(&self, second: &mut Option<BaseConsumer>, topic: &Topic) {
        if second.is_none() {
            let attempt = topic.consumer().and_then(|consumer| {
                topic.assign(&consumer, self.state().skipped.starts())?;
                Ok(consumer)
            });
            match attempt {
                Ok(consumer) => *second = Some(consumer),
                Err(problem) => {
                    self.state().note_problem(problem.to_string());
                    return thread::sleep(AGAIN_EVERY);
                }
            }
        }
        let Some(consumer) = second else { return };
        let start = Instant::now();
        let mut next = consumer.poll(WAIT);
        let mut state = self.state();
        while let Some(message) = next {
            if self.begins_anew() {
                return;
            }
            state.log.update_window();
            state.take_skipped(message);
            next = match start.elapsed() <= BATCH_AT_MOST && !state.skipped.is_empty() {
                true => consumer.poll(Duration::ZERO),
                false => None,
            };
        }
    }

    /// Logs a message and all others that are already buffered.
    fn batch(
        &self,
        consumer: &BaseConsumer,
        first: Result<BorrowedMessage<'_>, KafkaError>,
        held_up_since: Option<Instant>,
    ) {
        let start = held_up_since.unwrap_or_else(Instant::now);
        let mut state = self.state();
        if self.begins_anew() {
            // A message of the first read would count as a copy in the second.
            return;
        }
        state.log.update_window();
        let measured = state.log.measured_phase();
        state.pace.set_measured(measured);
        state.pace.polls += 1;
        let mut oldest_ns = state.take(first, Purpose::Follow);
        let mut more_waits = true;
        while more_waits && start.elapsed() <= BATCH_AT_MOST {
            match consumer.poll(Duration::ZERO) {
                Some(message) => oldest_ns = oldest_ns.max(state.take(message, Purpose::Follow)),
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
