//! Why the sink cannot run.

use std::net::SocketAddr;

use rdkafka::error::KafkaError;
use waggle_influxdb::{AddressError, TokenError};
use waggle_kafka::{AccessError, presentable_error};

use crate::settings::SettingError;

/// Why the sink could not run.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("--influxdb-url: {0}")]
    Address(#[from] AddressError),
    #[error("--influxdb-token-file: {0}")]
    Token(#[from] TokenError),
    /// Flags for Kafka, or the files that they name, are wrong.
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("listening on {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("{tried}: {source}")]
    Kafka {
        tried: &'static str,
        source: KafkaError,
    },
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
    #[error("{0} panicked")]
    Ended(&'static str),
    #[error("expelled from the consumer group: {0}")]
    Lost(String),
}

impl SinkError {
    /// Whether the arguments, or a file that they name, are wrong.
    pub fn is_mistake_of_user(&self) -> bool {
        matches!(self, Self::Setting(_) | Self::Access(_))
    }
}

pub(crate) fn kafka_error(tried: &'static str) -> impl FnOnce(KafkaError) -> SinkError {
    move |source| SinkError::Kafka {
        tried,
        source: presentable_error(source),
    }
}
