//! All cells and the metrics of each; `map` has the metrics over the factors, `asked` those that the study asks about.

pub(crate) mod asked;
pub(crate) mod chart;
pub(crate) mod json;
pub(crate) mod map;
pub(crate) mod section;
pub(crate) mod table;
