//! What is known of an agent: its host, its clock during a load, and whether it had its CPUs; and of pods and their nodes.

use serde::{Deserialize, Serialize};

use crate::count::count;

/// The host of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentHostInfo {
    /// Counted from 1.
    pub number: u32,
    /// The name that the host has for itself; of a pod, its own.
    pub name: String,
    /// The same for all that run on one kernel, a digest of its boot id; empty: not known.
    pub machine: String,
    pub kernel: String,
    pub architecture: String,
    pub cpu_model: String,
    /// CPUs that the agent may use.
    pub cpus: u32,
    /// CPUs that its cgroup may use on average; `None`: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Where it is in a cluster; `None`: it is no pod of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodInfo>,
    /// False: it is built for another architecture than the runner, and only the version was compared.
    pub is_same_program: bool,
}

/// A pod of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodInfo {
    pub pod: String,
    pub namespace: String,
    pub node_name: String,
    pub image: String,
    /// `None`: the runtime does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// `Guaranteed`: what it asks for is its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos_class: Option<String>,
    pub restarts: u32,
    /// `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeInfo>,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Of an agent: what of the system is not among the pods of the trials; `None`: nobody looked, because all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemOnNode>,
}

/// A replica of the system that was a pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaPod {
    /// `orders-0`; of a pod that belongs to no component, its own name.
    pub replica: String,
    pub pod: PodInfo,
}

/// Whether the system was on the node of an agent, when the agents had joined or at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SystemOnNode {
    /// It was.
    Shared {
        /// `NAMESPACE/POD`, or the address of the system, which is the node's.
        what: Vec<String>,
    },
    /// It was on others.
    Apart,
    Unknown {
        why: String,
    },
}

/// A node of a cluster, when the agents had joined or the system was brought up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeInfo {
    pub kernel: String,
    pub os_image: String,
    pub kubelet: String,
    pub runtime: String,
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub allocatable_cpus: f64,
    pub allocatable_memory_bytes: f64,
    /// Pods on it that are not of the run, and what they ask for.
    pub other_pods: u32,
    pub other_cpus: f64,
    pub other_memory_bytes: f64,
}

/// An agent during the measured load of a trial. Offsets are those of its clock against the runner's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentInfo {
    /// Counted from 1.
    pub number: u32,
    pub name: String,
    /// By the reading before the load: its monotonic clock, by which its instants were turned into the runner's.
    pub offset_ms: f64,
    /// The true offset was at most so far away.
    pub offset_bound_ms: f64,
    pub offset_after_ms: f64,
    pub offset_after_bound_ms: f64,
    /// Its wall clock, by the same reading as `offset_ms`. Nothing is computed with it.
    pub wall_offset_ms: f64,
    /// In parts per million; more than `drift_bound_ppm` away from 0 is certain.
    pub drift_ppm: f64,
    pub drift_bound_ppm: f64,
    /// The most that an instant of the agent can be wrong in the runner's time.
    pub clock_error_ms: f64,
    /// Readings of its clock while the load ran.
    #[serde(deserialize_with = "count")]
    pub readings: u64,
    /// From the common start to its first request, by its own clock; `None`: it sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sent_ms: Option<f64>,
    /// `None`: its cgroup does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<ThrottledInfo>,
}

/// How often a cgroup was stopped because its CPU time of a period was used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottledInfo {
    /// Periods in which it wanted to run.
    #[serde(deserialize_with = "count")]
    pub periods: u64,
    #[serde(deserialize_with = "count")]
    pub throttled: u64,
    pub throttled_ms: f64,
}
