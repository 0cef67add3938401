//! *Where it is recorded*: a recorder per worker, and its histograms, counts and outcomes, which are merged by interval.
//!
//! In reading order: `outcome` (intervals and totals), `recorder`, `merge`; `counters`, `histogram`, `request_outcomes` and
//! `examples` are parts of them.

mod counters;
pub(crate) mod examples;
pub(crate) mod histogram;
pub(crate) mod merge;
pub(crate) mod outcome;
pub(crate) mod recorder;
pub(crate) mod request_outcomes;
