//! `trial.json`, and the row types of the files next to it.

mod agent;
mod clients;
mod delivery;
mod generator;
mod inspected;
pub(crate) mod limit;
mod load;
mod network;
mod preparation;
mod rows;
mod stopped;
mod sums;
mod waits;

pub use agent::{
    AgentHostInfo, AgentInfo, NodeInfo, PodInfo, ReplicaPod, SystemOnNode, ThrottledInfo,
};
pub use clients::{ClientEndInfo, ClientInfo};
pub use delivery::{DeliveryInfo, InstantsInfo, MeasuredRecords, SampleInfo};
pub use generator::{GeneratorInfo, GeneratorPartInfo, LagInfo};
pub use inspected::InspectedCounts;
pub use load::{FillInfo, LoadInfo, LoadStepInfo};
pub use network::{NetworkCounts, NetworkInfo};
pub use preparation::{PreparationInfo, SnapshotInfo};
pub use rows::{BacklogRow, IntervalRow, ResourceRow, SystemMetricRow};
pub use stopped::{StopNumber, StoppedInfo};
pub use sums::{IntervalSums, add_failures, note_failure};
pub use waits::{CoolDownInfo, QuietWaitInfo};

use serde::{Deserialize, Serialize};
use waggle_spec::{FaultKind, LoadRole, LoadStage, Protocol, fault_target};

use crate::{
    FORMAT, FailureKind, ImportedTrialInfo, LimitInfo, RecoveryInfo, TrialKey,
    count::{count, optional_count},
};

/// `trial.json`: written last, so that a folder which has it is whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialInfo {
    pub format: u32,
    pub key: TrialKey,
    /// Position in the order of execution, counted from 1.
    pub position: u32,
    /// RFC 3339, UTC.
    pub started_utc: String,
    pub end: TrialEnd,
    /// In the order they ran.
    pub phases: Vec<PhaseInfo>,
    /// True if the warm-up ended because the system was steady; `None` if that was not tested.
    pub warm_up_steady: Option<bool>,
    /// Measured phase only.
    pub measured: CountsRow,
    /// Whole run of the engine, warm-up and finish included.
    pub totals: CountsRow,
    /// `None`: an imported trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorInfo>,
    /// The agents that made the load, in the order of their numbers; empty: it was made on the runner's machine, or the trial did not get
    /// as far as the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentInfo>,
    /// At the probe where records must arrive.
    pub ledger: Option<LedgerInfo>,
    pub delivery: Option<DeliveryInfo>,
    /// Observations that are worth a line in the report.
    pub remarks: Vec<String>,
    /// The level of the load, in a run that searches for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// A scenario's steps, in the order of the `steps` of each interval; empty if the load is one request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepInfo>,
    /// A scenario's sessions; `None` if the load is one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsInfo>,
    /// Of a load of clients, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientInfo>,
    /// Opening of connections; `None`: not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connecting: Option<ConnectingInfo>,
    /// Probes on the records' way to where they must arrive, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intermediate_probes: Vec<ProbeInfo>,
    /// What was done to components in mid-trial because the study asks for it, in the order of its instants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultInfo>,
    /// How the load dropped after the measured phase; `None`: it did not, or the trial did not get that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_drop: Option<LoadDropInfo>,
    /// What the CPUs did in the measured phase; `None`: not noted, or the trial did not get that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineInfo>,
    /// How the level of the load changed; empty: it was always the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<LoadStage>,
    /// What ended the trial early because the study asks for it; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedInfo>,
    /// Of each replica that has any, in the order of their starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitInfo>,
    /// The pods of the system, by the names of replicas; those that were replaced come before their successors. Empty: it was no pods, or
    /// none got an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<ReplicaPod>,
    /// The network of its own; `None`: it had the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkInfo>,
    /// What was done to the system before its load; `None`: nothing, or an earlier trial did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<PreparationInfo>,
    /// The other loads, in the order of the study, as far as they were run: of the preparation those that had something to add, then
    /// those beside the measured one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadInfo>,
    /// Loads beside the measured one that the study leaves out in the trial's cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent_loads: Vec<String>,
    /// How the cool-down after the trial waited for a value of the machine; `None`: it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cool_down: Option<CoolDownInfo>,
    /// How the trial waited before its start until other programs left the CPUs alone; `None`: it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_wait: Option<QuietWaitInfo>,
    /// What is known of a trial that another tool measured; `None`: waggle did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedTrialInfo>,
}

impl TrialInfo {
    /// A trial of which nothing but its start is known.
    #[must_use]
    pub fn new(key: TrialKey, position: u32, started_utc: String) -> Self {
        Self {
            format: FORMAT,
            key,
            position,
            started_utc,
            end: TrialEnd::Completed,
            phases: Vec::new(),
            warm_up_steady: None,
            measured: CountsRow::default(),
            totals: CountsRow::default(),
            generator: None,
            agents: Vec::new(),
            ledger: None,
            delivery: None,
            remarks: Vec::new(),
            level: None,
            steps: Vec::new(),
            sessions: None,
            clients: Vec::new(),
            connecting: None,
            intermediate_probes: Vec::new(),
            faults: Vec::new(),
            load_drop: None,
            machine: None,
            stages: Vec::new(),
            stopped: None,
            limits: Vec::new(),
            pods: Vec::new(),
            network: None,
            preparation: None,
            loads: Vec::new(),
            absent_loads: Vec::new(),
            cool_down: None,
            quiet_wait: None,
            imported: None,
        }
    }
}

/// The CPUs that waggle may use, over a stretch of time, as shares of 1. The rest is work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineInfo {
    /// Taken by the host of a virtual machine although there was something to do.
    pub cpu_steal: f64,
    /// Without work; idle polling is none.
    pub cpu_idle: f64,
    /// Cores that waggle used, its load generators and supervisors included; `None`: not noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cores: Option<f64>,
    /// Cores that the system used; `None`: not noted, or not all of it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_cores: Option<f64>,
    /// Cores that other programs used; `None`: not noted, or the system is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cores: Option<f64>,
}

/// What was done to a component in mid-trial. Seconds count from the start of the measured phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultInfo {
    #[serde(default, skip_serializing_if = "is_kill")]
    pub kind: FaultKind,
    pub component: String,
    /// Counted from 0; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<u32>,
    #[serde(alias = "killed_s")]
    pub begun_s: f64,
    /// Of a kill: its next process was started; `None`: the trial ended before.
    pub started_s: Option<f64>,
    /// All was ready again, as when a system is brought up; `None`: the trial ended before.
    pub ready_s: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_kill(kind: &FaultKind) -> bool {
    *kind == FaultKind::Kill
}

impl FaultInfo {
    /// What it was of: a replica, `orders-0`, or the whole component.
    #[must_use]
    pub fn name(&self) -> String {
        fault_target(&self.component, self.replica)
    }
}

/// The drop of a load to a lower level. Its effect is in the intervals of the phase `recovery`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadDropInfo {
    /// Since the start of the load.
    pub at_s: f64,
    pub recovery: RecoveryInfo,
}

/// Delivery accounting at an intermediate probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeInfo {
    pub ledger: LedgerInfo,
    pub delivery: DeliveryInfo,
}

/// One step of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepInfo {
    pub name: String,
    /// Measured phase only.
    pub measured: StepCounts,
    /// Whole run of the engine, warm-up and finish included.
    pub totals: StepCounts,
}

/// Requests of one step over some stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepCounts {
    #[serde(deserialize_with = "count")]
    pub sent: u64,
    #[serde(deserialize_with = "count")]
    pub succeeded: u64,
    #[serde(deserialize_with = "count")]
    pub failed: u64,
    pub failures: Vec<FailureCount>,
}

/// The sessions of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionsInfo {
    /// Measured phase only.
    pub measured: SessionCounts,
    /// Whole run of the engine, warm-up and finish included.
    pub totals: SessionCounts,
}

/// Sessions over some stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCounts {
    #[serde(deserialize_with = "count")]
    pub started: u64,
    /// Completed their flow.
    #[serde(deserialize_with = "count")]
    pub completed: u64,
    /// Ended early, by a step that failed.
    #[serde(deserialize_with = "count")]
    pub failed: u64,
}

/// Opening connections, over the whole run of the engine. Their times are in `connect_time.hlog` and `handshake_time.hlog`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectingInfo {
    #[serde(deserialize_with = "count")]
    pub connects: u64,
    /// Completed TLS handshakes, and how many of them resumed an earlier session.
    #[serde(deserialize_with = "count")]
    pub handshakes: u64,
    #[serde(deserialize_with = "count")]
    pub handshakes_resumed: u64,
    /// Requests that were sent once more over a new connection, because the server closed the old one with an answer before
    /// theirs, or over HTTP/2 said that it had not processed them.
    #[serde(deserialize_with = "count")]
    pub resent: u64,
    /// The version of HTTP that was asked for; `None`: not noted, by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Connections that spoke HTTP/2; `None`: not noted, by an older version.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_count"
    )]
    pub http2_connections: Option<u64>,
    /// Connections whose server takes fewer requests at once than the load may send; `None`: not noted, by an older version.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_count"
    )]
    pub narrow_connections: Option<u64>,
}

impl TrialInfo {
    /// The loads of a role, in the order of the study.
    pub fn loads_of(&self, role: LoadRole) -> impl Iterator<Item = &LoadInfo> {
        self.loads.iter().filter(move |load| load.role == role)
    }

    /// What its own network counted in the measured phase, if it had one and got that far.
    #[must_use]
    pub fn network_counts(&self) -> Option<NetworkCounts> {
        self.network.as_ref()?.counts
    }

    /// When a phase ran, if it did.
    #[must_use]
    pub fn phase(&self, phase: PhaseName) -> Option<&PhaseInfo> {
        self.phases.iter().find(|info| info.phase == phase)
    }

    /// From when to when answers came that count in the times of the trial: in the measured phase, and after it until the last.
    /// Times without the answers that came after it would be too short at the tail. If the load goes on after the phase, later
    /// answers do not count.
    #[must_use]
    pub fn answers_within(&self) -> (f64, f64) {
        let Some(measure) = self.phase(PhaseName::Measure) else {
            return (0.0, 0.0);
        };
        match self.phase(PhaseName::Recovery) {
            Some(_) => (measure.start_s, measure.end_s),
            None => (measure.start_s, f64::INFINITY),
        }
    }
}

/// How the trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TrialEnd {
    Completed,
    Failed {
        phase: PhaseName,
        reason: String,
        /** Last lines of the component's log. */
        log_tail: Vec<String>,
    },
}

/// The phases of a trial, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    Up,
    Ready,
    Verify,
    /// Loads that fill the system.
    Prepare,
    WarmUp,
    Measure,
    /// Load at the level to which it has dropped.
    Recovery,
    Finish,
    Drain,
    Collect,
    Down,
    CoolDown,
}

/// When a phase ran. Seconds count from the start of the load (interval 0); negative before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseInfo {
    pub phase: PhaseName,
    pub start_s: f64,
    pub end_s: f64,
}

/// Counts over some stretch of time. `planned = sent + skipped`, `sent = succeeded + failed + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsRow {
    pub seconds: f64,
    #[serde(deserialize_with = "count")]
    pub due: u64,
    #[serde(deserialize_with = "count")]
    pub sent: u64,
    #[serde(deserialize_with = "count")]
    pub succeeded: u64,
    #[serde(deserialize_with = "count")]
    pub failed: u64,
    #[serde(deserialize_with = "count")]
    pub skipped: u64,
    /// Change of in flight over the stretch (end − start), so that the equation holds for any stretch.
    pub in_flight_change: i64,
    /// Records in succeeded requests; of a scenario, those that were accepted, even if a later check of the answer failed.
    #[serde(deserialize_with = "count")]
    pub records_succeeded: u64,
    #[serde(deserialize_with = "count")]
    pub bytes_sent: u64,
    #[serde(deserialize_with = "count")]
    pub bytes_received: u64,
    /// Of requests, by kind: they add up to `failed`.
    pub failures: Vec<FailureCount>,
    /// Of attempts to connect, of connections without requests in flight, and of sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_failures: Vec<FailureCount>,
    /// Of the answers that were inspected; `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspected: Option<InspectedCounts>,
}

/// One kind of failure and how often it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureCount {
    pub kind: FailureKind,
    #[serde(deserialize_with = "count")]
    pub count: u64,
}

/// The account of records, by key. `sent = accepted + rejected + unknown`, `accepted = delivered + missing`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerInfo {
    #[serde(deserialize_with = "count")]
    pub sent: u64,
    #[serde(deserialize_with = "count")]
    pub accepted: u64,
    #[serde(deserialize_with = "count")]
    pub rejected: u64,
    #[serde(deserialize_with = "count")]
    pub unknown: u64,
    /// Accepted and found.
    #[serde(deserialize_with = "count")]
    pub delivered: u64,
    /// Accepted and not found.
    #[serde(deserialize_with = "count")]
    pub missing: u64,
    /// Unknown and found.
    #[serde(deserialize_with = "count")]
    pub unknown_delivered: u64,
    /// Rejected and found.
    #[serde(deserialize_with = "count")]
    pub rejected_delivered: u64,
    /// Found although rejected, or with a key that was never sent.
    #[serde(deserialize_with = "count")]
    pub unexpected: u64,
    /// Found once more than once; counts the extra copies.
    #[serde(deserialize_with = "count")]
    pub duplicates: u64,
    /// Found later than the study's `late_threshold`.
    #[serde(deserialize_with = "count")]
    pub late: u64,
    /// Found after a record of the same worker that was sent later.
    #[serde(deserialize_with = "count")]
    pub out_of_order: u64,
    /// The first few missing keys.
    pub missing_keys: Vec<u64>,
}
