//! The time of one trial: the facts of it, steadiness, backlogs, stalls, recovery; and the times of single requests of a closed
//! load.
//!
//! In reading order: `trial_facts`, `steady`, `backlog`, `stall`, `recovery`, `closed_load`.

pub(crate) mod backlog;
pub(crate) mod closed_load;
pub(crate) mod recovery;
pub(crate) mod stall;
pub(crate) mod steady;
pub(crate) mod trial_facts;
