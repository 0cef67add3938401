//! The parts of a study, each in one file: its keys with their documentation, their bounds and defaults, and what must hold.

pub(crate) mod delivery;
pub(crate) mod faults;
pub(crate) mod inherited_variables;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod network;
pub(crate) mod oauth2;
pub(crate) mod pods;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod scaling;
pub(crate) mod scenario;
pub(crate) mod schedule;
pub(crate) mod search;
pub(crate) mod settle;
pub(crate) mod system_metric;
pub(crate) mod texts;
pub(crate) mod tls;
