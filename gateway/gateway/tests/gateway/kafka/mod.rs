//! The gateway on a real broker, which a consumer reads back.

mod cluster;
mod faults;
mod reading;
mod writing;

pub(crate) use cluster::shared_broker;
