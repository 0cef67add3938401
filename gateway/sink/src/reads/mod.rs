//! What is read from Kafka: messages, their lines, the lag, and which offsets may be committed.

pub(crate) mod consumer;
pub(crate) mod lag;
pub(crate) mod offsets;
pub(crate) mod parsed_message;
