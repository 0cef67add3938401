//! Where scaling curves cross bounds and each other, and pairs of levels along them.

pub(crate) mod json;
pub(crate) mod table;
pub mod words;
