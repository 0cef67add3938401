//! A load: the job of the engine that a cell asks for, the contents of its requests, how it is run, and its counts on disk.

pub(crate) mod calibration;
pub mod counts;
pub(crate) mod engine;
mod feeds;
pub(crate) mod generator_processes;
pub(crate) mod job;
pub(crate) mod load_run;
mod message;
pub(crate) mod random;
pub(crate) mod records;
pub(crate) mod scenario;
pub(crate) mod side_load;
