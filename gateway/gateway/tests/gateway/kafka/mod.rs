//! The gateway on a real broker, which a consumer reads back.

mod cluster;
mod faults;
mod reading;
#[cfg(feature = "kafka-tls")]
mod security;
#[cfg(feature = "kafka-tls")]
mod token_endpoint;
#[cfg(not(feature = "kafka-tls"))]
mod without_tls;
mod writing;

pub(crate) use cluster::shared_broker;
