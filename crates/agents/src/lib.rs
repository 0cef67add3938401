//! Load agents: programs on other machines that run the shares of a load, and the fleet that a runner has of them.
//!
//! An agent connects to the runner, by TLS with the certificate of the run, and shows the run's token. This connection is the
//! *control connection*: over it the runner reads the agent's clock, asks for its share of the CPU, and asks for *load connections*,
//! each of which carries one [`waggle_load::Link`] and nothing else. So intervals do not delay the readings of clocks, and an agent can
//! run a background load beside its share of the measured one.
//!
//! Knows no study, no results and no terminal. In reading order: `clocks`, `host`, `program`, `join_file`, `messages`, `tls`, `link`, `fleet` (the
//! runner's side), `agent` (the other one).

mod agent;
mod clocks;
mod fleet;
mod host;
mod join_file;
mod link;
mod messages;
mod program;
mod tls;

pub use agent::{AgentError, AgentOptions, run_agent};
pub use clocks::{ClockError, ClockReading};
pub use fleet::{AgentUse, Asked, Fleet, FleetError, FleetMember, LoadUse, Notice};
pub use host::{CpuThrottle, HostFacts, machine_id};
pub use join_file::{JoinFile, JoinFileError};
