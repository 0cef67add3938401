//! The parts of a report, one folder for each subject, in chapters. A part has up to five files: `section` (what of it is in the
//! document), `table`, `words` (its sentences), `json` (its values for other programs) and `chart` (its values for the page).
//!
//! In reading order: `opening`, `capacity`, `cells`, `factors`, `load`, `over_time`, `system`, `reliability`, `method`.

pub(crate) mod capacity;
pub(crate) mod cells;
mod columns;
pub(crate) mod factors;
pub(crate) mod load;
pub(crate) mod method;
pub(crate) mod opening;
pub(crate) mod over_time;
pub(crate) mod reliability;
pub(crate) mod system;
