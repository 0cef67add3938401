//! The catalogue of metrics: each value that a user can name is one row. Pure; it has names and units, and leaves measuring and
//! output to others.
//!
//! A row has the name of the metric in conditions, searches, reference results and tables, its unit, whether higher or lower is
//! better, and how the trials of a cell are combined to one value. `waggle-analysis` reads the value from a trial, in one `match`
//! over [`Metric`].

mod catalogue;
mod own_unit;
mod path;
mod row;

pub use catalogue::{CATALOGUE, LoadMetric, Metric};
pub use path::{NamedMetric, resolve, resolve_in_load};
pub use row::{OverTrials, Row, STATISTICS, Statistic, Subject, Unit, Wish};
