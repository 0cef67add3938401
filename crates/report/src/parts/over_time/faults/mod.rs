//! Fault injection: which replicas were killed, and the consequences.

pub(crate) mod section;
pub(crate) mod table;
