//! Scenarios as plain values: steps, checks, captures, feeds, templates, and what sessions keep. `sessions` runs them.

pub(crate) mod decimal;
pub(crate) mod escape;
pub(crate) mod kept;
pub(crate) mod mismatch;
pub(crate) mod model;
pub(crate) mod rows;
pub(crate) mod template;
