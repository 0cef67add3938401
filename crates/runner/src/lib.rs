//! One trial after another: up, ready, verify, warm-up, measure, finish, drain, collect, down, cool-down.
//!
//! Drivers bring components up, probes watch places, the ledger accounts for every record. It judges nothing: it writes
//! what it saw through `results`, and a search asks `waggle_analysis::evidence` what a trial on disk shows. Prints
//! nothing: it says what happens by [`Event`]s.
//!
//! Public modules are who follows a run needs too: counts as rows, CPUs, the host.

mod answer;
mod artifacts;
mod awake;
mod calibration;
mod chance;
mod clock;
pub mod counts;
mod cpu_time;
pub mod cpus;
mod driver;
mod engine;
mod event;
mod events;
mod feeds;
pub mod host;
mod info;
mod job;
mod ledger;
mod load;
mod message;
mod named_files;
mod placeholder;
mod probe;
mod proc;
mod records;
mod request;
mod run;
mod scenario;
mod schedule;
mod search;
mod secrets;
mod supervise;
mod system_metric;
mod transport;
mod trial;
mod up;
mod web;

#[cfg(test)]
mod tests;

pub use artifacts::{FetchError, Fetching, Location, artifacts, fetch};
pub use awake::{IdlePollError, idle_poll};
pub use driver::ProgramError;
pub use event::Event;
pub use info::{comparison, level_kind};
pub use named_files::{NAMED_FILE_MAX_BYTES, files_beside};
pub use records::{RECORDS_FILE_MAX_BYTES, RecordFiles, RecordsError};
pub use request::{CpuUse, Ended, RunError, RunRequest};
pub use run::run;
pub use scenario::load_scenario;
pub use supervise::supervise;
pub use transport::TransportError;
pub use up::{Up, UpError, UpRequest, bring_up};
