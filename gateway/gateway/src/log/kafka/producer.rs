//! The producer, and its replacement if passwords or certificates change: librdkafka reads them only when a client is made.

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::{Duration, Instant},
};

use rdkafka::{error::KafkaError, producer::BaseProducer};
use waggle_kafka::{Access, presentable_error};
use waggle_service::log;

use super::{Inner, acknowledging::Acknowledging, settings::KafkaSettings};

/// Interval of looks at the files of credentials and certificates.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two warnings about the same files.
const WARN_EVERY: Duration = Duration::from_mins(1);
/// Interval of checks for the end of what is in flight.
const STEP: Duration = Duration::from_millis(5);
/// How long a replaced producer may still be polled.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) type Client = BaseProducer<Acknowledging>;

/// The producer that is used now.
pub(super) struct CurrentProducer(RwLock<Arc<Client>>);

impl CurrentProducer {
    pub(super) fn new(client: Client) -> Self {
        Self(RwLock::new(Arc::new(client)))
    }

    pub(super) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, client: Client) -> Arc<Client> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut current, Arc::new(client))
    }
}

/// A client with what the files have now.
pub(super) fn create(
    access: &Access,
    settings: &KafkaSettings,
    in_flight_max_bytes: usize,
    context: Acknowledging,
) -> Result<Client, KafkaError> {
    let config = settings.producer(access, in_flight_max_bytes);
    config
        .create_with_context(context)
        .map_err(presentable_error)
}

/// Looks at the files, and replaces the producer when they change.
pub(super) struct Renewal {
    looked: Instant,
    warned: Option<Instant>,
    /// Whether the files have changed, and there is no new producer yet.
    is_due: bool,
}

impl Renewal {
    pub(super) fn new() -> Self {
        Self {
            looked: Instant::now(),
            warned: None,
            is_due: false,
        }
    }

    /// Looks if it is time for that. It may take as long as what is in flight.
    pub(super) fn look(&mut self, inner: &Arc<Inner>) {
        if self.looked.elapsed() < LOOK_EVERY {
            return;
        }
        self.looked = Instant::now();
        match inner.access.renew() {
            Ok(has_changed) => self.is_due |= has_changed,
            Err(error) => {
                return self.warn(&format!("{error}; what was read before stays in force"));
            }
        }
        if !self.is_due {
            return;
        }
        match inner.replace_producer() {
            Ok(()) => {
                self.is_due = false;
                log::note(format_args!(
                    "credentials or certificates for Kafka have changed: connecting again"
                ));
            }
            Err(error) => self.warn(&format!("connecting to Kafka again: {error}")),
        }
    }

    fn warn(&mut self, problem: &str) {
        if self
            .warned
            .is_none_or(|warned| warned.elapsed() >= WARN_EVERY)
        {
            self.warned = Some(Instant::now());
            log::warn(format_args!("{problem}"));
        }
    }
}

impl Inner {
    /// The context of a producer.
    fn context(self: &Arc<Self>) -> Acknowledging {
        Acknowledging {
            access: Arc::clone(&self.access),
            health: Arc::clone(&self.health),
            latest: Arc::clone(&self.latest),
            inner: OnceLock::from(Arc::downgrade(self)),
        }
    }

    /// Makes a new producer, which sends after what is in flight has its outcome, so that records stay in order.
    fn replace_producer(self: &Arc<Self>) -> Result<(), KafkaError> {
        let context = self.context();
        let client = create(
            &self.access,
            &self.settings,
            self.in_flight_max_bytes,
            context,
        )?;
        self.sender().is_held = true;
        let begun = Instant::now();
        // Late batches are given up, so this ends.
        while self.flights.count() > 0 && begun.elapsed() < 2 * self.settings.kafka_delivery_timeout
        {
            std::thread::sleep(STEP);
        }
        let mut sender = self.sender();
        let replaced = self.producer.replace(client);
        sender.is_held = false;
        self.send_gathered(&mut sender);
        drop(sender);
        self.health.doubt();
        // It is dropped here rather than by the thread for acknowledgements, because its end takes a while.
        let begun = Instant::now();
        while Arc::strong_count(&replaced) > 1 && begun.elapsed() < RELEASE_TIMEOUT {
            std::thread::sleep(STEP);
        }
        Ok(())
    }
}
