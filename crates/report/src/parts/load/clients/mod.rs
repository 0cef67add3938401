//! Clients with a number of requests each.

pub(crate) mod section;
pub(crate) mod table;
