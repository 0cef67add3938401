//! How gateway and sink reach a Kafka cluster: the flags of protocol, credentials and certificates, librdkafka's configuration from
//! them, and what its errors mean. What is produced and consumed is up to the users.
//!
//! Secrets come from files or the environment. They are never in arguments, errors or logs.

mod access;
mod admin;
mod jwt;
mod refusal;
mod secret_file;
mod settings;

pub use access::{Access, AccessError};
pub use refusal::{presentable_error, refusal_reason};
pub use settings::{Mechanism, Protocol, SecuritySettings};
