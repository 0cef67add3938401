//! Every trial.

pub(crate) mod json;
pub(crate) mod section;
mod table;
