//! What the description of a run says: what varied, how its system was there, what its processes and metrics are called.
//!
//! In reading order: `factor`, `system_kind`, `instrument`, `imported`, `metric_path`.

pub(crate) mod factor;
pub(crate) mod imported;
pub(crate) mod instrument;
pub(crate) mod metric_path;
pub(crate) mod system_kind;
