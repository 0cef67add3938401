//! The catalogue of metrics: each number that a user can meet is one row. Pure; it knows what a number is called and counted in,
//! and neither where it is measured nor how it is shown.
//!
//! A row says by which name conditions, searches, reference figures and tables know the number, what it is counted in, whether more
//! of it is better, and how the trials of a cell make one number of it. How a trial has it is read in `waggle-analysis`, in one `match`
//! over [`Metric`].

mod catalogue;
mod path;
mod row;

pub use catalogue::{CATALOGUE, Metric};
pub use path::{NamedMetric, resolve, resolve_in_load};
pub use row::{OverTrials, Row, STATISTICS, Statistic, Subject, Unit, Wish};
