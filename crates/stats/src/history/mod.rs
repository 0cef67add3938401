//! Many runs of the same study: where their level changes, and what they have together.
//!
//! In reading order: `change_point`, `over_runs`.

pub(crate) mod change_point;
pub(crate) mod over_runs;
