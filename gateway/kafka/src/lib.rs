//! How gateway and sink reach a Kafka cluster: the flags of protocol, credentials and certificates, librdkafka's configuration from
//! them, and what its errors mean. What is produced and consumed is up to the users.
//!
//! Secrets come from files or the environment, tokens from files or a token endpoint. They are never in arguments, errors or logs.

mod access;
mod admin;
mod endpoint;
mod error;
mod jwt;
mod refusal;
mod renewal;
mod secret_file;
mod settings;

pub use access::{Access, IS_CURRENT};
pub use error::AccessError;
pub use refusal::{presentable_error, refusal_reason};
pub use settings::{Mechanism, Protocol, SecuritySettings};
