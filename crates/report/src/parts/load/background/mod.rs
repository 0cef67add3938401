//! What ran beside the measured load.

pub(crate) mod section;
mod table;
