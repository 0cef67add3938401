//! The log that makes records durable, and what is known of it in memory: where batches are, and the latest readings.

pub(crate) mod backend;
pub(crate) mod cycle;
pub(crate) mod kafka;
pub(crate) mod latest;
pub(crate) mod store;
pub(crate) mod ticket;
