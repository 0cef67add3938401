//! Runs against each other: two sides compared, and the history of many.

mod agent_hosts;
pub mod compare;
pub mod history;
