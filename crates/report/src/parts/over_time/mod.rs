//! Trials over time: their series, stalls, recovery after a drop of the load, and faults.

pub(crate) mod faults;
pub(crate) mod recovery;
pub(crate) mod stalls;
pub(crate) mod time;
