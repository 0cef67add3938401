//! Steps and sessions of a scenario.

pub(crate) mod section;
pub(crate) mod table;
