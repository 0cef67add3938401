//! The dead-letter topic: lines that cannot be written, each with its reason and its source.

use std::{
    collections::{HashSet, VecDeque},
    error::Error,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig, ClientContext,
    admin::{AdminOptions, NewTopic, TopicReplication},
    client::OAuthToken,
    error::{KafkaError, RDKafkaErrorCode},
    message::{Header, OwnedHeaders},
    producer::{BaseRecord, DeliveryResult, Producer, ProducerContext, ThreadedProducer},
};
use tokio::sync::oneshot;
use waggle_kafka::Access;
use waggle_service::log;

use crate::{
    error::{SinkError, kafka_error},
    settings::SinkSettings,
    writes::batch::Unwritten,
};

/// Timeout for creating a topic.
const CREATE_WITHIN: Duration = Duration::from_secs(10);
/// Timeout for the acknowledgement of a letter, before a retry.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// Longest text of a letter, so that no topic refuses it for its size. The source topic has the rest.
const TEXT_MAX_BYTES: usize = 768 * 1024;
/// Longest reason.
const REASON_MAX_BYTES: usize = 4 * 1024;
/// Most letters in flight for each batch, and their bytes.
const UNDER_WAY_MAX: usize = 100;
const UNDER_WAY_MAX_BYTES: usize = 1024 * 1024;
/// Memory for letters in flight of all batches: enough for all writers, unless they are very many.
const QUEUE_MAX_KBYTES: &str = "16384";
/// Pause before a retry if that memory is full.
const ROOM_AFTER: Duration = Duration::from_millis(10);

/// Writes dead letters in order.
pub(crate) struct DeadLetters {
    settings: SinkSettings,
    access: Arc<Access>,
    producer: RwLock<Arc<ThreadedProducer<Context>>>,
    /// Topics that are known to exist.
    there: Mutex<HashSet<String>>,
}

/// A letter could not be written.
#[derive(Debug, thiserror::Error)]
#[error("dead letter to {topic:?}: {source}")]
pub(crate) struct DeadLetterError {
    topic: String,
    source: KafkaError,
}

/// A letter that was handed to librdkafka.
struct InFlight {
    topic: String,
    size: usize,
    outcome: oneshot::Receiver<Outcome>,
}

/// Reports the outcome of a letter.
struct Context(Arc<Access>);

type Outcome = Result<(), KafkaError>;

impl ClientContext for Context {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        Ok(self.0.token()?)
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = Box<oneshot::Sender<Outcome>>;

    fn delivery(&self, result: &DeliveryResult<'_>, waits: Self::DeliveryOpaque) {
        let outcome = match result {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error.clone()),
        };
        // The receiver is dropped when the sink ends.
        let _ = waits.send(outcome);
    }
}

impl DeadLetters {
    pub(crate) fn new(settings: &SinkSettings, access: Arc<Access>) -> Result<Self, SinkError> {
        Ok(Self {
            settings: settings.clone(),
            producer: RwLock::new(Arc::new(producer(&access)?)),
            access,
            there: Mutex::default(),
        })
    }

    /// Makes a new producer with the credentials that are in force now. Letters in flight fail, and are written again.
    pub(crate) fn reconnect(&self) -> Result<(), SinkError> {
        let new = Arc::new(producer(&self.access)?);
        *self
            .producer
            .write()
            .unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Writes all of them; returns when Kafka has acknowledged each. After a failure some may be in the topic; a retry then
    /// duplicates them.
    pub(crate) async fn write(&self, letters: &[Unwritten]) -> Result<(), DeadLetterError> {
        let (mut in_flight, mut bytes) = (VecDeque::new(), 0);
        for letter in letters {
            let size = letter.text.len().min(TEXT_MAX_BYTES) + letter.reason.len();
            while in_flight.len() >= UNDER_WAY_MAX
                || bytes + size > UNDER_WAY_MAX_BYTES && !in_flight.is_empty()
            {
                bytes -= self.settle(in_flight.pop_front()).await?;
            }
            let topic = self.settings.dead_letter_topic(&letter.source.topic);
            self.provide(&topic).await;
            let outcome = self.send_in_time(&topic, letter).await?;
            in_flight.push_back(InFlight {
                topic,
                size,
                outcome,
            });
            bytes += size;
        }
        while !in_flight.is_empty() {
            self.settle(in_flight.pop_front()).await?;
        }
        Ok(())
    }

    /// Waits for a letter's acknowledgement; returns its size.
    async fn settle(&self, letter: Option<InFlight>) -> Result<usize, DeadLetterError> {
        let Some(letter) = letter else {
            return Ok(0);
        };
        // A dropped producer means a failed letter.
        let outcome = letter.outcome.await.unwrap_or(Err(KafkaError::Canceled));
        outcome.map(|()| letter.size).map_err(|source| {
            self.lock().remove(&letter.topic);
            let topic = letter.topic;
            DeadLetterError { topic, source }
        })
    }

    /// Hands a letter to librdkafka as soon as there is room for it.
    async fn send_in_time(
        &self,
        topic: &str,
        letter: &Unwritten,
    ) -> Result<oneshot::Receiver<Outcome>, DeadLetterError> {
        let begun = Instant::now();
        loop {
            match self.send(topic, letter) {
                Ok(outcome) => return Ok(outcome),
                Err(KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull))
                    if begun.elapsed() < ACKNOWLEDGED_WITHIN =>
                {
                    tokio::time::sleep(ROOM_AFTER).await;
                }
                Err(source) => {
                    let topic = topic.to_owned();
                    return Err(DeadLetterError { topic, source });
                }
            }
        }
    }

    fn send(
        &self,
        topic: &str,
        letter: &Unwritten,
    ) -> Result<oneshot::Receiver<Outcome>, KafkaError> {
        let (waits, outcome) = oneshot::channel();
        let text = &letter.text[..letter.text.len().min(TEXT_MAX_BYTES)];
        let record = BaseRecord::<(), [u8], _>::with_opaque_to(topic, Box::new(waits))
            .payload(text)
            .headers(headers(letter, text.len()));
        match self.producer().send(record) {
            Ok(()) => Ok(outcome),
            Err((error, _)) => Err(error),
        }
    }

    /// Creates the topic if it does not exist. If that fails, writes to it fail.
    async fn provide(&self, topic: &str) {
        if self.lock().contains(topic) {
            return;
        }
        let new = NewTopic::new(topic, 1, TopicReplication::Fixed(-1));
        let options = AdminOptions::new()
            .request_timeout(Some(CREATE_WITHIN))
            .operation_timeout(Some(CREATE_WITHIN));
        let admin = match self.access.admin_client(&client_config(&self.access)) {
            Ok(admin) => admin,
            Err(error) => {
                log::warn(format_args!("creating the topic {topic:?}: {error}"));
                return;
            }
        };
        let made = match admin.create_topics(&[new], &options).await {
            Ok(results) => results.into_iter().next(),
            Err(error) => {
                log::warn(format_args!("creating the topic {topic:?}: {error}"));
                return;
            }
        };
        match made {
            Some(Ok(_)) => log::note(format_args!("created the topic {topic:?} for dead letters")),
            Some(Err((_, RDKafkaErrorCode::TopicAlreadyExists))) | None => {}
            Some(Err((_, code))) => {
                log::warn(format_args!("creating the topic {topic:?}: {code}"));
            }
        }
        self.lock().insert(topic.to_owned());
    }

    /// Waits for letters in flight.
    pub(crate) fn flush(&self, at_most: Duration) {
        // Callers that need the outcome wait for each letter.
        let _ = self.producer().flush(at_most);
    }

    fn producer(&self) -> Arc<ThreadedProducer<Context>> {
        Arc::clone(&self.producer.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn client_config(access: &Access) -> ClientConfig {
    let mut config = access.client_config();
    config
        .set("client.id", "waggle-sink")
        .set("reconnect.backoff.max.ms", "500");
    config
}

fn producer(access: &Arc<Access>) -> Result<ThreadedProducer<Context>, SinkError> {
    let mut config = client_config(access);
    let timeout_ms = ACKNOWLEDGED_WITHIN.as_millis();
    config
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("linger.ms", "1")
        .set("message.timeout.ms", timeout_ms.to_string())
        .set("queue.buffering.max.kbytes", QUEUE_MAX_KBYTES);
    config
        .create_with_context(Context(Arc::clone(access)))
        .map_err(kafka_error("creating a producer"))
}

fn headers(letter: &Unwritten, kept: usize) -> OwnedHeaders {
    let reason = shorten(&letter.reason);
    let (partition, offset) = (
        letter.source.partition.to_string(),
        letter.offset.to_string(),
    );
    let (line, left_out) = (
        letter.number.to_string(),
        (letter.text.len() - kept).to_string(),
    );
    let mut headers = OwnedHeaders::new();
    let pairs = [
        ("waggle-reason", reason),
        ("waggle-topic", &*letter.source.topic),
        ("waggle-partition", &*partition),
        ("waggle-offset", &*offset),
        ("waggle-line", &*line),
    ];
    for (key, value) in pairs {
        let value = Some(value);
        headers = headers.insert(Header { key, value });
    }
    if kept < letter.text.len() {
        let value = Some(&*left_out);
        headers = headers.insert(Header {
            key: "waggle-bytes-left-out",
            value,
        });
    }
    headers
}

fn shorten(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_MAX_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}
