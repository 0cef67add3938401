//! Fault injection: what was done to components, and the consequences.

pub(crate) mod section;
pub(crate) mod table;
