//! What is on disk: the only serialised types of a run, versioned, with their reading and writing.
//!
//! Results are the seam: what is left of them needs the machine under test, what is right of them can run later,
//! elsewhere, again. Nothing here judges a number.

mod run;
mod trial;

pub use run::{CellInfo, ComponentInfo, Host, RunInfo, ScheduleInfo, ThresholdInfo, TrialKey};
pub use trial::{
    CountsRow, DeliveryInfo, EngineInfo, FailureCount, IntervalRow, LedgerInfo, PhaseInfo, PhaseName, ResourceRow,
    TrialEnd, TrialInfo, BacklogRow,
};

/// The version of the folder's layout and of every file in it. A reader refuses a newer one.
pub const FORMAT: u32 = 1;
