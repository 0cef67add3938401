//! What is on disk: the only serialised types of a run, versioned, with their reading and writing.
//!
//! Results are the seam: what is left of them needs the machine under test, what is right of them can run later,
//! elsewhere, again. Nothing here judges a number.
//!
//! ```text
//! run.json  study.yaml  system.yaml  .lock
//! trials/0001-c03-r1/    trial.json (written last)  intervals.ndjson  resources.ndjson  backlog.ndjson
//!                        response_time.hlog  service_time.hlog  failed_time.hlog  lag.hlog  delivery_delay.hlog  logs/
//!                        connect_time.hlog  handshake_time.hlog (where the engine notes them)
//!                        arrival_delay.hlog (where the probe knows when the place itself had a record)  watches.ndjson
//!                        on_the_way/01-broker/    backlog.ndjson  delivery_delay.hlog  arrival_delay.hlog
//!                        steps/01-login/    response_time.hlog  service_time.hlog  failed_time.hlog (of a scenario)
//! trials/.0002-c01-r1.partial/    a trial that has not come to its end; ignored by readers, redone on resume
//! ```

mod calibration;
mod disk;
mod encoded;
mod error;
mod failure;
mod folder;
mod hlog;
mod kinds;
mod names;
mod on_the_way;
mod out;
mod parallel;
mod read;
mod run;
mod text;
mod trial;
mod warm_up;
mod writer;

pub use calibration::{CalibratedShape, CalibrationFile};
pub use error::{ReadError, WriteError};
pub use failure::{FailureKind, UnknownFailure};
pub use folder::RunFolder;
pub use hlog::{
    HistogramLog, HistogramLogWriter, LoggedHistogram, MAX_LINES as HLOG_MAX_LINES, read_histograms,
};
pub use kinds::{Comparison, FeedOrder, Fresh, LevelKind, LoadModel, TrialOrder};
pub use on_the_way::PlaceLogs;
pub use parallel::parallel_map;
pub use read::{Limits, Run, StepLogs, StepTimes, Trial, TrialHistograms, trial_info};
pub use run::{
    CellInfo, ComponentInfo, FeedInfo, FindInfo, FirstInfo, FlowInfo, Host, NamedText,
    PublishedColumnInfo, PublishedInfo, PublishedRowInfo, RecoveryInfo, RunInfo, ScenarioInfo,
    ScheduleInfo, ThresholdInfo, TrialKey, WatchInfo,
};
pub use text::{
    TextError, read_backlog, read_intervals, read_resources, read_run_info, read_trial_info,
    read_watches,
};
pub use trial::{
    BacklogRow, ConnectingInfo, CountsRow, DeliveryInfo, DisturbanceInfo, EngineInfo, FailureCount,
    FallInfo, IntervalRow, LedgerInfo, MachineInfo, PhaseInfo, PhaseName, PlaceInfo, ResourceRow,
    SessionCounts, SessionsInfo, StageInfo, StepCounts, StepInfo, StopNumber, StoppedInfo,
    TrialEnd, TrialInfo, WatchRow,
};
pub use warm_up::WarmUpUntil;
pub use writer::{IntervalHistograms, LoadStart, StepHistograms, TrialWriter};

/// The version of the folder's layout and of every file in it. A reader refuses a newer one and reads all older ones:
/// 2 added what belongs to scenarios (`scenario`, `steps`, `sessions`) and the times of connecting; 3 added the places on the
/// records' way (`on_the_way`), the time until a place itself had a record (`arrival_delay.hlog`), the watches and published figures;
/// 4 tells records that were rejected and are there from others that should not be there (`rejected_delivered`), added what was
/// killed in mid-trial (`disturbances`) and the load after the measured phase (`recovery`, `fall`), lets several factors name the rows of published
/// figures, and notes what the CPUs did (`kept_awake`, `machine`); 5 refuses words that are not in a closed set (models of load,
/// orders, comparisons, kinds of failures) and always says how often the system was started anew (`fresh`), and
/// added loads in stages and phases that end by a number of requests (`stages`, `measure_requests`, `warm_up_requests`) and trials that
/// were ended early (`stopped`).
pub const FORMAT: u32 = 5;
