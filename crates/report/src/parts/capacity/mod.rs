//! Capacity: the search for it, and the cells at shares of it.

pub(crate) mod operating_points;
pub(crate) mod search;
