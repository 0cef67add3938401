//! The crate at its boundary, with real processes: studies in, run folders out.

#[cfg(test)]
#[path = "it/mod.rs"]
mod it;
