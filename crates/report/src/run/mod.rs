//! The report of a run: its parts in reading order (`document`), as pages, charts and JSON, for continuous integration
//! (`checks`), and as files in its folder (`write`).

mod charts;
pub(crate) mod checks;
mod document;
pub(crate) mod json;
pub(crate) mod pages;
mod parallel;
pub(crate) mod write;
