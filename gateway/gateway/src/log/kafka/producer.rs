//! The producer in use, and when another one takes its place: librdkafka reads passwords and certificates only when a client is made.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use rdkafka::{
    error::KafkaError,
    producer::{BaseProducer, ProducerContext},
};
use waggle_kafka::{Access, presentable_error};
use waggle_service::log;

use super::settings::KafkaSettings;

/// Interval of looks at the files of credentials and certificates.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two warnings about the same files.
const WARN_EVERY: Duration = Duration::from_mins(1);
/// Interval of checks whether a replaced producer is still polled, and how long that may be.
const STEP: Duration = Duration::from_millis(5);
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The producer that is used now.
pub(super) struct CurrentProducer<C: ProducerContext + 'static>(RwLock<Arc<BaseProducer<C>>>);

impl<C: ProducerContext> CurrentProducer<C> {
    pub(super) fn new(client: BaseProducer<C>) -> Self {
        Self(RwLock::new(Arc::new(client)))
    }

    pub(super) fn client(&self) -> Arc<BaseProducer<C>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the replaced one, which others may still poll: [`release`] it.
    pub(super) fn replace(&self, client: BaseProducer<C>) -> Arc<BaseProducer<C>> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut current, Arc::new(client))
    }
}

/// Drops a replaced producer here rather than on the thread for acknowledgements, because its end takes a while.
pub(super) fn release<C: ProducerContext>(replaced: Arc<BaseProducer<C>>) {
    let begun = Instant::now();
    while Arc::strong_count(&replaced) > 1 && begun.elapsed() < RELEASE_TIMEOUT {
        std::thread::sleep(STEP);
    }
    drop(replaced);
}

/// A client with what the files have now.
pub(super) fn create<C: ProducerContext + 'static>(
    access: &Access,
    settings: &KafkaSettings,
    in_flight_max_bytes: usize,
    context: C,
) -> Result<BaseProducer<C>, KafkaError> {
    let config = settings.producer(access, in_flight_max_bytes);
    config
        .create_with_context(context)
        .map_err(presentable_error)
}

/// Looks at the files, and has the producer replaced when they change.
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

    /// Looks if it is time for that, and replaces the producer if the files have changed.
    pub(super) fn look(
        &mut self,
        access: &Access,
        replace: impl FnOnce() -> Result<(), KafkaError>,
    ) {
        if self.looked.elapsed() < LOOK_EVERY {
            return;
        }
        self.looked = Instant::now();
        match access.renew() {
            Ok(has_changed) => self.is_due |= has_changed,
            Err(error) => {
                return self.warn(&format!("{error}; what was read before stays in force"));
            }
        }
        if !self.is_due {
            return;
        }
        match replace() {
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
