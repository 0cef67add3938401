//! Words and numbers of every report: formatting, labels, names of cells, findings. Nothing is judged here.
//!
//! Sentences about one subject are beside its tables, in `parts`.

pub mod cell;
pub mod conditions;
pub(crate) mod derived;
pub(crate) mod fact;
pub mod findings;
pub mod format;
pub(crate) mod imported;
pub mod labels;
pub(crate) mod metric;
pub(crate) mod names;
pub(crate) mod sentence;
pub(crate) mod trials_needed;
