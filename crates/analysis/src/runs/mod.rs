//! Runs against each other: two sides compared, and the history of many.

pub mod compare;
pub mod history;
