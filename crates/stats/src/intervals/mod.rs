//! Estimates with their intervals: over trials, of shares, of differences and quantiles; how many trials a difference needs.
//!
//! In reading order: `range`, `estimate`, `contrast`, `pairing`, `blocks`, `proportion`, `quantile`, `trend`, `equivalence`,
//! `trials_needed`, `margin`, `power`.

pub(crate) mod blocks;
pub(crate) mod contrast;
pub(crate) mod equivalence;
pub(crate) mod estimate;
pub(crate) mod margin;
pub(crate) mod pairing;
pub(crate) mod power;
pub(crate) mod proportion;
pub(crate) mod quantile;
pub(crate) mod range;
pub(crate) mod trend;
pub(crate) mod trials_needed;
