//! The forms of values of other crates in messages to another process: mirrors for serde of types that do not know it.

use serde::{Deserialize, Serialize};
use waggle_runner::counts::GeneratorSettings;
use waggle_spec::Arrivals;
use waggle_stats::{Estimate, Evidence, LoadModel, Verdict};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", rename_all = "snake_case")]
pub(crate) enum VerdictForm {
    Valid,
    Unsteady,
    Contended,
    Overloaded,
    InstrumentLimited,
    Incomplete,
    Inconsistent,
    Failed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Evidence", rename_all = "snake_case")]
pub(crate) enum EvidenceForm {
    Met,
    NotMet,
    PoolLimited,
    InstrumentLimited,
    Unsteady,
    Nothing,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LoadModel", rename_all = "snake_case")]
pub(crate) enum LoadModelForm {
    Closed,
    Open,
    Users,
    Clients,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "GeneratorSettings")]
pub(crate) struct GeneratorSettingsForm {
    workers: usize,
    connections: u64,
    offered_per_s: Option<f64>,
    arrivals: Arrivals,
    in_flight: Option<f64>,
    in_flight_max: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Estimate")]
pub(crate) struct EstimateForm {
    point: f64,
    interval: Option<(f64, f64)>,
    count: usize,
    least: Option<f64>,
}
