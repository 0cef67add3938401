//! A system brought up and down: its processes or servers, their addresses, limits, networks, certificates and secrets.
//!
//! A [`Driver`](components::driver::Driver) starts the components of a system in their order, waits until they are ready and ends them;
//! artifacts are fetched before. The crate measures nothing of the load and judges nothing. It prints nothing, and what happens is
//! told to its caller.
//!
//! Rooms, each of which imports only from those before it: what all need (the modules beside the rooms), `host`, `http`, `secrets`,
//! `components`.

pub mod components;
pub mod failure_kind;
pub mod host;
pub mod http;
pub mod placeholder;
pub mod problem;
pub mod secrets;
pub mod shutdown;
mod utc;

pub use components::{
    artifacts::{FetchError, Fetching, Location, artifacts, fetch},
    bring_up::{Up, UpError, UpRequest, bring_up},
    driver::ProgramError,
    elsewhere::{FetchedArtifact, NeededFiles, needed_files},
    left_behind::{LeftBehind, LeftBehindError, left_behind},
    limits::CGROUPS,
    supervise::supervise,
};
pub use host::{
    cpus,
    idle_poll::{IdlePollError, idle_poll},
    namespace::{NetworkError, allow_namespaces, network_info},
    this_host,
};
pub use http::transport::TransportError;
pub use utc::now_utc;
