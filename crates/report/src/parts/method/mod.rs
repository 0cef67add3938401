//! How it was measured: what a reader needs to repeat it.

mod artifacts;
mod design;
pub mod network;
pub(crate) mod section;
mod tls;
mod words;
