//! The machine that waggle runs on: its CPUs and their time, its processes, its networks. Nothing here knows a system or a load.

pub mod background;
pub mod cpu_time;
pub mod cpus;
pub mod environment;
mod facts;
pub mod idle_poll;
pub mod measuring;
pub mod namespace;
pub mod orphans;
pub mod owner;
pub mod proc;
pub mod quiet;
pub mod server_processes;
pub mod usage;

pub use self::facts::{NODE_VARIABLE, host, this_host};
