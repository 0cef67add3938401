//! A running load, from the events of the runner (`drive`): its rows (`series`), its progress (`view`), and its `outcome`.

pub(super) mod drive;
pub(super) mod outcome;
pub(super) mod series;
mod step_results;
pub(super) mod view;
