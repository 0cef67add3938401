//! Recovery: how long each cell took after its load dropped.

pub(crate) mod section;
mod table;
