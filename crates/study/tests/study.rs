//! The crate at its boundary: files in, messages and values out.

#[path = "it/mod.rs"]
mod it;
