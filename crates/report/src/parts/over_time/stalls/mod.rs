//! Stalls: stretches of the measured phase without a success.

pub(crate) mod table;
pub(crate) mod words;
