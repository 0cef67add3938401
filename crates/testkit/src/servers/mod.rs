//! Real servers of tests, which end with their guards.

pub(crate) mod influxdb;
pub(crate) mod kafka;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod prometheus;
pub(crate) mod registry;
#[cfg(feature = "tls")]
pub(crate) mod secured_kafka;
pub(crate) mod server_folder;
pub(crate) mod small_disk;
pub(crate) mod telegraf;
