//! The pods of a Job: how they are, why they do not run, what they write, and programs in them.

mod events;
mod exec;
mod logs;
mod reason;
mod status;
mod wait;

pub use events::Event;
pub use exec::{ExecEnd, ExecError, Streams};
pub use logs::LogLines;
pub use reason::{Reason, Stuck};
pub use status::{ContainerState, ContainerStatus, PodPort, PodStatus};
pub use wait::{NotRunning, WaitLimits};
pub(crate) use wait::{Patience, write_alike};
