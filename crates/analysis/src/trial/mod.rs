//! One trial: its numbers, verdict and reasons, and the parts that they are read from.
//!
//! In reading order: `judge`, `agents`, `trial_model`, `side_load`, `step`, `probe`, `recovery`, `outage`,
//! `system_metric`, `machine`, `bottleneck`, `memory`, `limits`, `time_weighted`, `series`.

pub(crate) mod agents;
pub(crate) mod bottleneck;
pub mod judge;
pub(crate) mod limits;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod outage;
pub(crate) mod probe;
pub(crate) mod recovery;
pub(crate) mod series;
pub(crate) mod side_load;
pub(crate) mod step;
pub(crate) mod system_metric;
pub(crate) mod time_weighted;
pub(crate) mod trial_model;
