//! Shared by all servers of the project: log lines, metrics pages, the admin listener, signals and exit codes. `waggle run` uses the
//! pages and the listener for its own metrics. It does not know records, client protocols or other servers.

pub mod admin;
pub mod log;
pub mod metrics;
pub mod program;
