//! A run: from its request to its last trial. What is checked before the first trial, the order of trials, repetitions and the steps
//! of a search.

pub(crate) mod agents;
pub(crate) mod cells_left_out;
mod drivers;
mod early_failures;
pub(crate) mod entry;
pub(crate) mod external_server;
pub(crate) mod info;
pub(crate) mod named_files;
mod networks;
#[cfg(feature = "cluster")]
pub(crate) mod pod_places;
pub(crate) mod remains;
mod repetitions;
pub(crate) mod request;
mod resumption;
pub(crate) mod schedule;
mod search;
#[cfg(feature = "cluster")]
mod system_manifests;
#[cfg(feature = "cluster")]
mod system_pods;
mod version_programs;
