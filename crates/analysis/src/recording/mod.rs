//! What a trial recorded, in the forms in which several look at it: its measured phase, percentiles, delays, samples of
//! processes, series of intervals.
//!
//! In reading order: `histogram`, `lag`, `samples`, `accepted`, `trial_view`, `delays`, `course`.

pub(crate) mod accepted;
pub(crate) mod course;
pub(crate) mod delays;
pub(crate) mod histogram;
pub(crate) mod lag;
pub(crate) mod samples;
pub(crate) mod trial_view;
