//! On which nodes of a cluster the system was.

pub(crate) mod section;
pub(crate) mod table;
pub(crate) mod words;
