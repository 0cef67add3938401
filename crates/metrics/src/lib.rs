//! The catalogue of metrics: each value that a user can name is one row. Pure; it knows what a metric is called and counted in,
//! and neither where it is measured nor how it is shown.
//!
//! A row says by which name conditions, searches, reference results and tables know the metric, what it is counted in, whether more
//! of it is better, and how the trials of a cell make one value of it. How a trial has it is read in `waggle-analysis`, in one `match`
//! over [`Metric`].

mod catalogue;
mod path;
mod renamed;
mod row;

pub use catalogue::{CATALOGUE, Metric};
pub use path::{NamedMetric, resolve, resolve_in_load};
pub use renamed::new_path;
pub use row::{OverTrials, Row, STATISTICS, Statistic, Subject, Unit, Wish};
