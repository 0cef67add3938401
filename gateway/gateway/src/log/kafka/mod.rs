//! The log on Kafka: batches form while others are in flight, and a request is answered when the broker has acknowledged every
//! one of its records.
//!
//! Records gather for `--kafka-linger`, or until the batch is large, or, while others are in flight, until an acknowledgement has
//! woken a worker and the worker has answered the requests that waited for it (`sending`). Three threads support this: one receives
//! acknowledgements, one enforces timeouts, one manages topics. It has no consumers.

mod acknowledging;
mod batch;
mod flight;
mod health;
mod metrics;
mod producer;
mod sending;
mod settings;
mod staging;
mod topic;
mod topic_admin;

pub use settings::KafkaSettings;
pub(crate) use staging::Staging;
pub(crate) use topic::{Asking, Topics};

use std::{
    ops::Deref,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rdkafka::{error::KafkaError, producer::Producer};
use tokio::sync::Notify;
use waggle_kafka::{Access, AccessError, IS_CURRENT};
use waggle_service::metrics::Page;

use crate::{
    answers::problem::Problem,
    log::latest::{Latest, LatestLimits},
    settings::Settings,
};
use acknowledging::Acknowledging;
use batch::{Limits, Sender};
use flight::{Flight, Flights};
use health::Health;
use metrics::{Failure, KafkaMetrics, Now};
use producer::CurrentProducer;
use topic_admin::TopicAdmin;

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
    /// Notified when a batch begins to gather that is sent after `--kafka-linger`.
    linger_begins: Condvar,
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
            linger_begins: Condvar::new(),
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
        Staging::new(self.limits, self.settings.kafka_partition_by)
    }

    /// Requests the lookup of a new topic. If it is absent, it is created for a client that may do that; for others the problem is a 404.
    pub(crate) fn ask_for(&self, topic: &str, asking: Asking) -> Result<(), Problem> {
        self.is_present()?;
        self.topics.ask(topic, Some(asking))
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
        let [name, meaning] = IS_CURRENT;
        page.gauge(name, meaning, u64::from(self.access.is_current()));
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
