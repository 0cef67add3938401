//! Seeded random numbers, and ranks by Zipf's law.

pub(crate) mod stream;
pub(crate) mod zipf;
