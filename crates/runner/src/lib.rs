//! Runs trials one after another: up, ready, verify, warm-up, measure, finish, drain, collect, down, cool-down.
//!
//! Drivers start the components, probes poll the stores, and the ledger accounts for every record. The crate judges nothing. It
//! writes observations through `results`, and a search asks `waggle_analysis::evidence` what a trial on disk shows. It prints
//! nothing and reports progress as [`Event`]s.
//!
//! Public modules are those that other users of a run need too: counts as rows, CPUs, the host.

mod answer;
mod artifacts;
mod bring_up;
mod calibration;
mod certificates;
mod clock;
mod cool_down;
pub mod counts;
mod cpu_time;
pub mod cpus;
mod created;
mod driver;
mod early_failures;
mod engine;
mod event;
mod events;
mod feeds;
mod fetch_failure;
mod generator_parts;
mod generators;
pub mod host;
mod http;
mod idle_poll;
mod info;
mod job;
mod json;
mod ledger;
mod left_behind;
mod left_out;
mod limits;
mod load;
mod message;
mod named_files;
mod namespace;
mod oauth2;
mod peer;
mod placeholder;
mod private_file;
mod probe;
mod proc;
mod quantiles;
mod quiet;
mod random;
mod records;
mod repetitions;
mod request;
mod run;
mod scenario;
mod schedule;
mod search;
mod secrets;
mod server_processes;
mod snapshot;
mod supervise;
mod system_metric;
mod tokens;
mod transport;
mod trial;
mod unpack;
mod usage;
mod version_programs;

#[cfg(test)]
mod tests;

pub use artifacts::{FetchError, Fetching, Location, artifacts, fetch};
pub use bring_up::{Up, UpError, UpRequest, bring_up};
pub use driver::ProgramError;
pub use event::Event;
pub use generators::generator;
pub use host::this_host;
pub use idle_poll::{IdlePollError, idle_poll};
pub use info::{at_start, cell_infos, comparison, level_kind, selection_info};
pub use left_behind::{LeftBehind, LeftBehindError, left_behind};
pub use left_out::{cells_to_leave_out, left_out_numbers};
pub use limits::CGROUPS;
pub use named_files::{NAMED_FILE_MAX_BYTES, files_beside, nearest_file};
pub use namespace::{NetworkError, allow_namespaces, network_info};
pub use probe::SampleLimits;
pub use records::{
    RECORDS_FILE_MAX_BYTES, RecordFiles, RecordsError, RecordsFound, look_at_records,
};
pub use request::{ChangedSystem, CpuUse, Ended, RunError, RunRequest};
pub use run::run;
pub use scenario::{Kept, load_scenario};
pub use supervise::supervise;
pub use transport::TransportError;
pub use unpack::TextFile;
