//! From the facts of a trial to findings, reasons and one verdict; which metrics a finding makes doubtful.
//!
//! In reading order: `verdict`, `finding`, `doubt`, `reason`, `cause`, `checks`, `level_change`.

pub(crate) mod cause;
pub(crate) mod checks;
pub(crate) mod doubt;
pub(crate) mod finding;
pub(crate) mod level_change;
pub(crate) mod reason;
pub(crate) mod verdict;
