//! The log on Kafka: batches form while others are in flight, and a request is answered when the broker has acknowledged every
//! one of its records.
//!
//! Records are sent at once if nothing is in flight. Otherwise they gather until the batch is large, or until an acknowledgement
//! has woken a worker and the worker has answered the requests that waited for it. Three threads support this: one receives
//! acknowledgements, one enforces timeouts, one manages topics. It has no consumers.

mod acknowledging;
mod batch;
mod flight;
mod health;
mod metrics;
mod producer;
mod settings;
mod staging;
mod topic;
mod topic_admin;

pub use settings::KafkaSettings;
pub(crate) use staging::Staging;
pub(crate) use topic::Topics;

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rdkafka::{
    error::KafkaError,
    producer::{BaseRecord, Producer},
};
use tokio::sync::Notify;
use waggle_kafka::{Access, AccessError};
use waggle_service::metrics::Page;

use crate::{
    answers::problem::Problem,
    log::{
        latest::{Latest, LatestLimits},
        ticket::{Fate, Ticket},
    },
    settings::Settings,
};
use acknowledging::Acknowledging;
use batch::{Batch, Limits};
use flight::{Flight, Flights};
use health::Health;
use metrics::{Failure, KafkaMetrics, Now};
use producer::CurrentProducer;
use topic_admin::TopicAdmin;

/// Interval of checks for late batches, and for small batches that have waited.
const WATCH_EVERY: Duration = Duration::from_millis(5);
/// A small batch waits at most so long for those in flight: one of them may be for a partition without a leader.
const SMALL_WAITS: Duration = Duration::from_millis(5);
/// How long the thread for acknowledgements waits for one, before it checks whether to end.
const POLL_FOR: Duration = Duration::from_millis(100);

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Flags, or the files that they name, are wrong.
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("setting up the Kafka client: {0}")]
    Client(#[from] KafkaError),
    #[error("starting a thread for Kafka: {0}")]
    Thread(#[from] std::io::Error),
}

/// Why the log has failed for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("a thread of the log on Kafka panicked")]
    Panicked,
    /// The fatal error of Kafka's client.
    #[error("{0}")]
    Client(String),
}

/// An open log.
pub(crate) struct Log(Arc<Inner>);

/// State that all its threads share.
pub(crate) struct Inner {
    pub(crate) topics: Topics,
    pub(crate) latest: Arc<Latest>,
    access: Arc<Access>,
    producer: CurrentProducer<Acknowledging>,
    in_flight_max_bytes: usize,
    sender: Mutex<Sender>,
    flights: Flights,
    health: Arc<Health>,
    metrics: KafkaMetrics,
    settings: KafkaSettings,
    limits: Limits,
    queue_max_records: usize,
    workers: Vec<Arc<Notify>>,
    /// Notified when it has failed for good.
    fallen: Notify,
    ended: AtomicBool,
}

/// Records that wait to be sent.
#[derive(Debug, Default)]
struct Sender {
    gathering: Batch,
    /// When the first of them arrived.
    since: Option<Instant>,
    is_closed: bool,
    /// Nothing is sent while the producer is replaced.
    is_held: bool,
}

/// The threads behind a log.
pub(crate) struct Threads {
    inner: Arc<Inner>,
    watch: JoinHandle<()>,
    acknowledge: JoinHandle<()>,
    keep: JoinHandle<()>,
}

impl Deref for Log {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Log {
    /// Creates the client and starts the threads; does not wait for the cluster.
    ///
    /// # Errors
    /// If the client or a thread cannot be created.
    pub(crate) fn open(
        settings: &Settings,
        brokers: &str,
        workers: Vec<Arc<Notify>>,
    ) -> Result<(Self, Threads), OpenError> {
        let kafka = settings.kafka.clone();
        let health = Arc::new(Health::new());
        let variable = |name: &str| std::env::var(name).ok();
        let access = Arc::new(Access::new(brokers, &kafka.security, variable)?);
        let latest = Arc::new(Latest::new(LatestLimits {
            series: settings.latest_max_series,
            bytes: settings.latest_max_bytes,
        }));
        let context = Acknowledging {
            access: Arc::clone(&access),
            health: Arc::clone(&health),
            latest: Arc::clone(&latest),
            inner: std::sync::OnceLock::new(),
        };
        let in_flight_max_bytes = settings.in_flight_max_bytes;
        let client = producer::create(&access, &kafka, in_flight_max_bytes, context)?;
        let inner = Arc::new(Inner {
            topics: Topics::new(settings.topics_max),
            latest,
            access,
            producer: CurrentProducer::new(client),
            in_flight_max_bytes,
            sender: Mutex::default(),
            flights: Flights::default(),
            health,
            metrics: KafkaMetrics::default(),
            limits: Limits {
                records: kafka.kafka_message_max_records,
                bytes: kafka
                    .kafka_message_max_bytes
                    .min(kafka.kafka_request_max_bytes),
            },
            settings: kafka,
            queue_max_records: settings.queue_max_records,
            workers,
            fallen: Notify::new(),
            ended: AtomicBool::new(false),
        });
        // It is set only here.
        let client = inner.producer.client();
        let _ = client.context().inner.set(Arc::downgrade(&inner));
        let topic_admin = TopicAdmin::new(Arc::clone(&inner))?;
        let threads = Threads {
            watch: start_thread("kafka-watch", &inner, Inner::watch)?,
            acknowledge: start_thread("kafka-acks", &inner, Inner::acknowledge)?,
            keep: std::thread::Builder::new()
                .name("kafka-topics".to_owned())
                .spawn(move || topic_admin.run())?,
            inner: Arc::clone(&inner),
        };
        Ok((Self(inner), threads))
    }
}

fn start_thread(
    name: &str,
    inner: &Arc<Inner>,
    work: fn(&Inner),
) -> std::io::Result<JoinHandle<()>> {
    let inner = Arc::clone(inner);
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || work(&inner))
}

impl Inner {
    /// A new staging area for a worker.
    pub(crate) fn staging(&self) -> Staging {
        Staging::new(self.limits)
    }

    /// Requests the lookup of a new topic.
    pub(crate) fn ask_for(&self, topic: &str) -> Result<(), Problem> {
        self.is_present()?;
        self.topics.ask(topic)
    }

    /// Accepts what a worker staged, and sends the gathered records if they are due.
    pub(crate) fn submit(
        &self,
        staging: &mut Staging,
        worker: u32,
    ) -> Result<Vec<(u32, Ticket)>, Problem> {
        staging.take_back();
        let records = staging.batch.records();
        let mut sender = self.sender();
        if let Err((problem, failure)) = self.admit(&sender, records) {
            drop(sender);
            staging.clear();
            self.metrics.count_failure(failure, records);
            return Err(problem);
        }
        let tickets = sender
            .gathering
            .take_in(&mut staging.batch, worker, self.limits);
        sender.since.get_or_insert_with(Instant::now);
        self.send_gathered(&mut sender);
        Ok(tickets)
    }

    fn admit(&self, sender: &Sender, records: usize) -> Result<(), (Problem, Failure)> {
        if sender.is_closed {
            return Err((
                Problem::new(503, "the gateway is shutting down"),
                Failure::Away,
            ));
        }
        if let Some(reason) = self.health.outage_reason() {
            return Err((topic_admin::unavailable_problem(&reason), Failure::Away));
        }
        let waiting = sender.gathering.records();
        if waiting > 0 && waiting + records > self.queue_max_records {
            return Err((Problem::queue_full(), Failure::Full));
        }
        Ok(())
    }

    /// Sends the gathered records if they are due.
    pub(crate) fn send(&self) {
        self.send_gathered(&mut self.sender());
    }

    /// Sends the gathered records if they are many. A worker sends a small batch, after answering clients, whose next requests
    /// may join it.
    fn send_large(&self) {
        let mut sender = self.sender();
        if self.is_large(&sender) {
            self.send_gathered(&mut sender);
        }
    }

    fn send_gathered(&self, sender: &mut Sender) {
        if sender.is_held
            || !self.is_to_be_sent(sender)
            || self.health.is_away()
            || sender.gathering.is_empty()
        {
            return;
        }
        let since = sender.since.take().unwrap_or_else(Instant::now);
        for lines in sender.gathering.topics() {
            let flight = Arc::new(Flight::new(lines, since));
            self.flights.add(&flight);
            for message in lines.messages() {
                self.send_message(&lines.topic.name, message, &flight);
            }
        }
        sender.gathering.clear();
    }

    /// Whether the gathered records are due: a small batch waits for those in flight, so that it grows.
    fn is_to_be_sent(&self, sender: &Sender) -> bool {
        let under_way = self.flights.count();
        let waits_long = || {
            sender
                .since
                .is_some_and(|since| since.elapsed() >= SMALL_WAITS)
        };
        under_way == 0
            || under_way < self.settings.kafka_batches_in_flight
                && (self.is_large(sender) || waits_long())
    }

    fn is_large(&self, sender: &Sender) -> bool {
        sender.gathering.records() >= self.settings.kafka_batch_min_records
    }

    fn send_message(&self, topic: &str, message: &batch::Message, flight: &Arc<Flight>) {
        let lines = message.bytes.strip_suffix(b"\n").unwrap_or(&message.bytes);
        let partition = i32::try_from(message.partition).expect("Kafka counts them so");
        let record = BaseRecord::<(), [u8], _>::with_opaque_to(topic, Arc::clone(flight))
            .partition(partition)
            .payload(lines);
        if let Err((error, _)) = self.producer.client().send(record) {
            self.health.note_message(&format!(
                "a message for partition {partition} of topic {topic} could not be queued: {error}"
            ));
            if flight.on_acknowledgement(message.partition, false) {
                self.settle_flight(flight);
            }
        }
    }

    /// A batch is settled: another may be sent, and the waiting workers are woken.
    fn settle_flight(&self, flight: &Flight) {
        self.flights.end(flight);
        if flight.is_durable() {
            self.metrics.note(flight);
        } else {
            self.metrics.count_failure(Failure::Broker, flight.records);
        }
        self.wake(flight.workers);
    }

    fn wake(&self, workers: u64) {
        for (number, worker) in self.workers.iter().enumerate() {
            if workers & (1 << number) != 0 {
                worker.notify_one();
            }
        }
    }

    /// The thread for acknowledgements, until the log has ended.
    fn acknowledge(&self) {
        while !self.ended.load(Ordering::Acquire) {
            self.producer.client().poll(POLL_FOR);
        }
    }

    /// The thread for timeouts, until the log is closed and every record is settled.
    fn watch(&self) {
        loop {
            std::thread::sleep(WATCH_EVERY);
            self.give_up_late();
            if let Some(reason) = self.health.outage_reason() {
                self.topics
                    .refuse_pending(|| topic_admin::unavailable_problem(&reason));
            }
            let mut sender = self.sender();
            let is_late = |since: Instant| since.elapsed() >= self.settings.kafka_delivery_timeout;
            if self.health.is_away() || sender.since.is_some_and(is_late) {
                self.refuse_gathered(&mut sender);
            }
            self.send_gathered(&mut sender);
            if sender.is_closed && sender.gathering.is_empty() && self.flights.count() == 0 {
                break;
            }
        }
    }

    /// Gives up late batches.
    fn give_up_late(&self) {
        let timeout = self.settings.kafka_delivery_timeout;
        let Some(before) = Instant::now().checked_sub(timeout) else {
            return;
        };
        let late = self.flights.overdue_flights(before);
        if !late.is_empty() && !self.health.heard_within(timeout) {
            self.health
                .set_away(&format!("no acknowledgement within {timeout:?}"));
        }
        for flight in late {
            if flight.give_up() {
                self.metrics.count_failure(Failure::Timeout, flight.records);
            }
            self.flights.end(&flight);
            self.wake(flight.workers);
        }
    }

    fn refuse_gathered(&self, sender: &mut Sender) {
        let mut workers = 0;
        for lines in sender.gathering.topics() {
            if let Some(ticket) = &lines.ticket {
                ticket.settle(Fate::Failed);
            }
            self.metrics.count_failure(Failure::Timeout, lines.records);
            workers |= lines.workers;
        }
        sender.gathering.clear();
        sender.since = None;
        self.wake(workers);
    }

    /// The problem for records that were not acknowledged.
    pub(crate) fn write_problem(&self) -> Problem {
        let message = self.health.last_message();
        let reason = message.map_or_else(String::new, |message| format!(": {message}"));
        Problem::new(
            503,
            format!(
                "Kafka has not acknowledged all of this request's records; some may be in the log nevertheless{reason}"
            ),
        )
    }

    /// An error if records would be refused now. Until the cluster has been reached, records wait for it.
    fn is_present(&self) -> Result<(), Problem> {
        match self.health.outage_reason() {
            Some(reason) => Err(topic_admin::unavailable_problem(&reason)),
            None => Ok(()),
        }
    }

    /// An error if it is not certain that records would be accepted now.
    pub(crate) fn is_ready(&self) -> Result<(), Problem> {
        self.is_present()?;
        if self.health.was_reached() {
            return Ok(());
        }
        let detail = "Kafka has not been reached yet";
        Err(match self.health.last_message() {
            Some(message) => Problem::new(503, format!("{detail}; {message}")),
            None => Problem::new(503, detail),
        })
    }

    /// The log has failed for good.
    fn fall(&self, reason: &str) {
        self.health.fall(reason);
        self.fallen.notify_one();
    }

    /// Ready when the log has failed for good.
    pub(crate) async fn wait_until_ended(&self) {
        self.fallen.notified().await;
    }

    /// Accepts no more records; accepted ones are still sent and settled.
    pub(crate) fn close(&self) {
        self.sender().is_closed = true;
        self.topics.close();
    }

    /// Writes its metrics.
    pub(crate) fn write_metrics(&self, page: &mut Page) {
        let now = Now {
            batches_in_flight: self.flights.count(),
            records_gathering: self.sender().gathering.records(),
            client_queue: usize::try_from(self.producer.client().in_flight_count()).unwrap_or(0),
            is_away: self.health.is_away(),
        };
        self.metrics.write(page, now);
    }

    fn sender(&self) -> MutexGuard<'_, Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// Waits until every accepted record has its outcome: at most `--kafka-delivery-timeout`.
    ///
    /// # Errors
    /// If the log has failed for good: why.
    pub(crate) fn wait(self) -> Result<(), LogError> {
        let panicked = |_| LogError::Panicked;
        self.watch.join().map_err(panicked)?;
        self.inner.ended.store(true, Ordering::Release);
        self.acknowledge.join().map_err(panicked)?;
        self.keep.join().map_err(panicked)?;
        match self.inner.health.fatal_error() {
            None => Ok(()),
            Some(reason) => Err(LogError::Client(reason)),
        }
    }
}

#[cfg(test)]
mod tests;
