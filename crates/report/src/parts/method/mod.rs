//! How it was measured: what a reader needs to repeat it.

mod agents;
mod artifacts;
mod design;
mod faults;
mod http;
pub mod network;
mod pods;
pub(crate) mod section;
mod tls;
mod words;
