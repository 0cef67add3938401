//! The machine that waggle runs on: its CPUs and their time, its processes, its networks. Nothing here knows a system or a load.

pub(crate) mod cpu_time;
pub mod cpus;
mod facts;
pub(crate) mod idle_poll;
pub(crate) mod namespace;
pub(crate) mod proc;
pub(crate) mod quiet;
pub(crate) mod server_processes;
pub(crate) mod usage;

pub use self::facts::{host, this_host};
