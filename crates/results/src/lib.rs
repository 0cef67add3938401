//! The files of a run: the only serialised types, versioned, with their reading and writing.
//!
//! Results separate measuring from analysis: measuring needs the machine under test, analysis can run later, elsewhere, and
//! again. Nothing here judges a number.
//!
//! ```text
//! run.json  study.yaml  system.yaml  .lock
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

mod artifact;
mod at_start;
mod best_and_worst;
mod calibration;
mod count;
mod count_comparison;
mod delays;
mod disk;
mod encoded_histogram;
mod error;
mod failure;
mod folder;
mod hlog;
mod imported;
mod intermediate_probes;
mod kinds;
mod left_out;
mod limit;
mod names;
mod operating_points;
mod parallel;
mod parse;
mod read;
mod run;
mod scaling;
mod sums;
mod system_metric;
mod trial;
mod trial_files;
mod warm_up;
mod writer;

pub use artifact::ArtifactInfo;
pub use at_start::FixedPart;
pub use best_and_worst::{BestAndWorstInfo, OrderedMetricInfo, SuccessesInfo};
pub use calibration::{CalibratedShape, CalibrationFile};
pub use count_comparison::{ComparedCount, CountComparisonInfo};
pub use delays::DelayHistograms;
pub use error::{ReadError, WriteError};
pub use failure::{FailureKind, UnknownFailure};
pub use folder::RunFolder;
pub use hlog::{
    HistogramLog, HistogramLogWriter, LoggedHistogram, MAX_LINES as HLOG_MAX_LINES, read_histograms,
};
pub use imported::{ImportedInfo, ImportedTrialInfo, QuantilePoint, QuantilesInfo, UnknownFact};
pub use intermediate_probes::ProbeLogs;
pub use kinds::{
    Arrivals, Comparison, ExpectedVerdict, FeedOrder, LevelKind, LoadModel, Restart, TrialOrder,
};
pub use left_out::{LeftOutInfo, LeftOutReason, SelectionInfo};
pub use limit::{CpuLimit, LimitInfo, LimitMeans, MemoryLimit, ThrottlingInfo};
pub use operating_points::OperatingPointsInfo;
pub use parallel::parallel_map;
pub use parse::{
    TextError, read_backlog, read_intervals, read_metrics, read_resources, read_run_info,
    read_trial_info,
};
pub use read::{
    Limits, Run, StepLogs, StepTimes, Trial, TrialHistograms, finished_trials, run_info, trial_info,
};
pub use run::{
    AddedReason, AddedTrial, CellInfo, ComponentInfo, ControlInfo, CoolDownUntilInfo,
    DerivedLevelInfo, FeedInfo, FlowInfo, Host, NamedText, RampUpInfo, RecoveryInfo,
    ReferenceColumnInfo, ReferenceInfo, ReferenceRowInfo, RunInfo, ScalingInfo, ScenarioInfo,
    ScheduleInfo, SearchInfo, ThresholdInfo, TrialKey, VersionDesign, VersionsInfo,
};
pub use scaling::PairInfo;
pub use sums::AtStartInfo;
pub use system_metric::{SystemMetricInfo, SystemMetricUnit};
pub use trial::{
    BackgroundInfo, BackgroundLoadInfo, BacklogRow, ClientEndInfo, ClientInfo, ConnectingInfo,
    CoolDownInfo, CountsRow, DeliveryInfo, FailureCount, FaultInfo, GeneratorInfo,
    GeneratorPartInfo, InspectedCounts, InstantsInfo, IntervalRow, LagInfo, LedgerInfo,
    LoadDropInfo, MachineInfo, MeasuredRecords, NetworkCounts, NetworkInfo, PhaseInfo, PhaseName,
    PreparationInfo, PrepareLoadInfo, PrepareStepInfo, ProbeInfo, QuietWaitInfo, ResourceRow,
    SampleInfo, SessionCounts, SessionsInfo, SnapshotInfo, StageInfo, StepCounts, StepInfo,
    StopNumber, StoppedInfo, SystemMetricRow, TrialEnd, TrialInfo,
};
pub use warm_up::WarmUpUntil;
pub use writer::{IntervalHistograms, LoadStart, StepHistograms, TrialWriter};

/// The version of the folder's layout and of every file in it. A reader refuses any other.
pub const FORMAT: u32 = 1;
