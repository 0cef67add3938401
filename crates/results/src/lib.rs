//! The files of a run, versioned, with their reading and writing: what was asked, by the types of `spec`, and what was seen.
//!
//! Results separate measuring from analysis: measuring needs the machine under test, analysis can run later, elsewhere, and
//! again. Nothing here judges a number.
//!
//! ```text
//! run.json  study.yaml  system.yaml  .lock  notes/ (of people, beside the results)
//! trials/0001-c03-r1/    trial.json (written last)  intervals.ndjson  resources.ndjson  backlog.ndjson
//!                        response_time.hlog  service_time.hlog  failed_time.hlog  lag.hlog  delivery_delay.hlog  logs/
//!                        connect_time.hlog  handshake_time.hlog (if the engine notes them)
//!                        first_byte_time.hlog (if answers are inspected)
//!                        session_duration.hlog (with a scenario)
//!                        earliest_delay.hlog  metrics.ndjson
//!                        end_to_end_delay.hlog  earliest_end_to_end_delay.hlog (open load)
//!                        arrival_delay.hlog (if the probe knows when its store had a record)
//!                        intermediate/01-broker/    backlog.ndjson  delivery_delay.hlog  earliest_delay.hlog  …
//!                        steps/01-login/    response_time.hlog  service_time.hlog  failed_time.hlog (of a scenario)
//! trials/.0002-c01-r1.partial/    an unfinished trial; ignored by readers, redone on resume
//! ```

mod calibration;
mod count;
mod error;
mod failure;
mod files;
mod histograms;
mod log_tail;
pub mod private_file;
mod run;
mod trial;

pub use calibration::{CalibratedShape, CalibrationFile};
pub use error::{ReadError, WriteError};
pub use failure::{FailureKind, UnknownFailure};
pub use files::{
    folder::{RunFolder, RunLock, is_being_written, is_run, unfinished_trials},
    notes::{NOTE_MAX_LETTERS, NOTES_MAX, Note, read_notes, write_note},
    parallel::parallel_map,
    parse::{
        TextError, read_backlog, read_intervals, read_metrics, read_resources, read_run_info,
        read_trial_info,
    },
    read::{Limits, Run, Trial, finished_trials, merge_range, run_info, trial_info},
    writer::{IntervalHistograms, LoadStart, TrialWriter},
};
pub use histograms::{
    delays::DelayHistograms,
    hlog::{
        HistogramLog, HistogramLogWriter, LoggedHistogram, MAX_LINES as HLOG_MAX_LINES,
        read_histograms,
    },
    intermediate_probes::ProbeLogs,
};
pub use log_tail::{LogTail, log_tail};
pub use run::{
    AddedReason, AddedTrial, CellInfo, ComponentInfo, ControlInfo, CoolDownUntilInfo, FeedInfo,
    FlowInfo, Host, NamedText, RecoveryInfo, RunInfo, ScenarioInfo, ScheduleInfo, TrialKey,
    VersionDesign, VersionsInfo,
    artifact::ArtifactInfo,
    at_start::FixedPart,
    imported::{ImportedInfo, ImportedTrialInfo, QuantilePoint, QuantilesInfo, UnknownFact},
    left_out::{LeftOutInfo, LeftOutReason},
    sums::AtStartInfo,
    system_metric::{SystemMetricInfo, SystemMetricUnit},
};
pub use trial::{
    AgentHostInfo, AgentInfo, BacklogRow, ClientEndInfo, ClientInfo, ConnectingInfo, CoolDownInfo,
    CountsRow, DeliveryInfo, FailureCount, FaultInfo, FillInfo, GeneratorInfo, GeneratorPartInfo,
    InspectedCounts, InstantsInfo, IntervalRow, IntervalSums, LagInfo, LedgerInfo, LoadDropInfo,
    LoadInfo, LoadStepInfo, MachineInfo, MeasuredRecords, NetworkCounts, NetworkInfo, NodeInfo,
    PhaseInfo, PhaseName, PodInfo, PreparationInfo, ProbeInfo, QuietWaitInfo, ReplicaPod,
    ResourceRow, SampleInfo, SessionCounts, SessionsInfo, SnapshotInfo, StepCounts, StepInfo,
    StopNumber, StoppedInfo, SystemMetricRow, SystemOnNode, ThrottledInfo, TrialEnd, TrialInfo,
    add_failures,
    limit::{CpuLimit, LimitInfo, LimitMeans, MemoryLimit, ThrottlingInfo},
    note_failure,
};

/// The version of the folder's layout and of every file in it. A reader refuses any other.
pub const FORMAT: u32 = 1;
