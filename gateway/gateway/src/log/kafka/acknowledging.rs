//! Callbacks of librdkafka: acknowledgements of messages, and errors of connections.

use std::{
    error::Error,
    sync::{Arc, OnceLock, Weak},
};

use rdkafka::{
    client::{ClientContext, OAuthToken},
    config::RDKafkaLogLevel,
    error::KafkaError,
    message::{DeliveryResult, Message},
    producer::ProducerContext,
    types::RDKafkaErrorCode,
};

use waggle_kafka::{Access, refusal_reason};

use super::{Inner, flight::Flight, health::Health};
use crate::log::latest::Latest;

/// The producer's context.
pub(super) struct Acknowledging {
    pub(super) access: Arc<Access>,
    pub(super) health: Arc<Health>,
    pub(super) latest: Arc<Latest>,
    /// Set once the log exists.
    pub(super) inner: OnceLock<Weak<Inner>>,
}

impl Acknowledging {
    fn inner(&self) -> Option<Arc<Inner>> {
        self.inner.get().and_then(Weak::upgrade)
    }

    fn note(&self, error: Option<&KafkaError>, text: &str) {
        match refusal_reason(error, text) {
            Some(refusal) => self.health.note_refusal(&refusal),
            None => self.health.note_message(text),
        }
    }
}

impl ClientContext for Acknowledging {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        Ok(self.access.token()?)
    }

    /// Errors also come through [`Self::error`]; messages that are only logged become rate-limited warnings.
    fn log(&self, level: RDKafkaLogLevel, _: &str, text: &str) {
        if level as i32 <= RDKafkaLogLevel::Warning as i32 {
            self.note(None, text);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.note(Some(&error), reason);
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::Fatal) => {
                if let Some(inner) = self.inner() {
                    inner.fall(reason);
                }
            }
            Some(RDKafkaErrorCode::AllBrokersDown) => self.health.doubt(),
            _ => {}
        }
    }
}

impl ProducerContext for Acknowledging {
    type DeliveryOpaque = Arc<Flight>;

    fn delivery(&self, result: &DeliveryResult<'_>, flight: Arc<Flight>) {
        let partition = match result {
            Ok(message) => {
                self.health.on_acknowledgement();
                // Noted before the request is answered: a read after a 204 finds it.
                if let Some(lines) = message.payload() {
                    self.latest.note_lines(flight.topic, lines);
                }
                message.partition()
            }
            Err((error, message)) => {
                self.health.note_message(&format!(
                    "a message for partition {} of topic {} was not acknowledged: {error}",
                    message.partition(),
                    message.topic()
                ));
                message.partition()
            }
        };
        let partition = u32::try_from(partition).expect("the gateway chose it");
        if flight.on_acknowledgement(partition, result.is_ok())
            && let Some(inner) = self.inner()
        {
            inner.settle_flight(&flight);
            inner.send_large();
        }
    }
}
