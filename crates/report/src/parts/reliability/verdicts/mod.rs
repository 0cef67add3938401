//! Verdicts with their causes, and thresholds.

pub mod causes;
pub(crate) mod json;
pub(crate) mod reason_json;
pub(crate) mod section;
mod table;
