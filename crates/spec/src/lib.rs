//! What is to be done, as plain checked values that serialise: one type for each noun, from the text of a study to the load engine
//! and to `run.json`. Knows no text, no file, no clock; whether a value is allowed is checked where it is read.

mod agents;
mod client_authentication;
mod compared_count;
mod conditions;
mod derived_level;
mod expected_verdict;
mod fault_kind;
mod feeds;
mod image_contents;
mod load;
mod on_failure;
mod questions;
mod records_format;
mod schedule;
mod search;
mod seconds;
mod selection;
mod system_pods;
mod time_kind;

pub use agents::{
    AgentPods, Agents, AgentsStarted, ClusterPlace, ImagePull, PodOptions, PodSpread,
    PodToleration, RunnerPod,
};
pub use client_authentication::ClientAuthentication;
pub use compared_count::{ComparedCount, CountComparison};
pub use conditions::{Comparison, Threshold};
pub use derived_level::DerivedLevel;
pub use expected_verdict::ExpectedVerdict;
pub use fault_kind::{FaultKind, fault_target};
pub use feeds::{FeedOrder, GeneratedRows, RowValue};
pub use image_contents::{IMAGE_CONTENTS_FILE, IMAGE_CONTENTS_FORMAT, ImageContents};
pub use load::{
    Arrivals, LevelKind, LoadKind, LoadModel, LoadRole, LoadStage, OnSocketError, Protocol,
    TUNNEL_METHOD, TUNNEL_OBJECTION, Think,
};
pub use on_failure::OnFailure;
pub use questions::{
    BestAndWorst, OrderedMetric, Pair, Reference, ReferenceColumn, ReferenceRow, Scaling, Successes,
};
pub use records_format::RecordsFormat;
pub use schedule::{RampUp, Restart, TrialOrder, WarmUpUntil};
pub use search::{OperatingPoints, Search};
pub use selection::Selection;
pub use system_pods::SystemPods;
pub use time_kind::{StepTimes, TimeKind, TimeSource, Times};
