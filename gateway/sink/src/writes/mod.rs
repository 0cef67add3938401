//! What is written to the database: batches, the verdict on a refused one, and dead letters.

pub(crate) mod batch;
pub(crate) mod bisect;
pub(crate) mod dead_letters;
pub(crate) mod influxdb;
pub(crate) mod verdict;
pub(crate) mod writer;
