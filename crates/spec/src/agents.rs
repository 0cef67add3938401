//! Where the load of a study is made, by agents on other hosts, and where its runner is.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// The agents that make the load of a study, each a generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    pub started: AgentsStarted,
    /// Where the runner takes them in; port 0: a free one. `None`: a free port of loopback, or of the runner's own pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// `HOST` or `HOST:PORT` by which they reach the runner; empty: where it listens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advertise: Vec<String>,
    /// How long the runner waits until all have joined.
    pub wait: Duration,
}

/// Who starts agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentsStarted {
    /// Somebody, with the file by which they join.
    ByHand { count: u32 },
    /// The runner, by ssh.
    BySsh {
        /// At least one, as ssh takes them.
        hosts: Vec<String>,
        /// The program there.
        program: String,
    },
    /// The runner, as an Indexed Job of Kubernetes.
    InKubernetes(Box<AgentPods>),
}

/// The pods of an Indexed Job, each an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPods {
    pub count: u32,
    pub place: ClusterPlace,
    /// The namespace is made for the run, and removed with it.
    pub makes_namespace: bool,
    pub pod: PodOptions,
    /// Labels of the pods of the system, which are never on the node of an agent.
    pub apart_from: BTreeMap<String, String>,
    pub apart_from_namespaces: Vec<String>,
    pub spread: PodSpread,
}

/// The runner of a study as the pod of a Job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerPod {
    pub place: ClusterPlace,
    pub pod: PodOptions,
    /// By which it makes its agents.
    pub service_account: String,
    /// A claim of a volume for snapshots of prepared systems, and whatever else is kept from run to run; `None`: it is not kept.
    pub cache_claim: Option<String>,
    /// How long is waited until it runs.
    pub wait: Duration,
}

/// A namespace of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterPlace {
    /// The kubeconfig, relative to the folder of the study; `None`: that of the environment, or the service account of the runner's pod.
    pub kubeconfig: Option<String>,
    /// `None`: the file's own current context.
    pub context: Option<String>,
    /// `None`: that of the context, or of the runner's pod.
    pub namespace: Option<String>,
}

/// What a pod is made of, and on which nodes it may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodOptions {
    pub image: String,
    pub pull: ImagePull,
    /// Secrets with which the image is pulled.
    pub pull_secrets: Vec<String>,
    /// Whole CPUs of each pod.
    pub cpus: u32,
    pub memory_bytes: u64,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<PodToleration>,
}

/// When a node pulls an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImagePull {
    Always,
    #[default]
    IfNotPresent,
    Never,
}

/// How pods of one kind are spread over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PodSpread {
    /// No two on one node.
    OneOnEach,
    /// As many on each node, give or take one.
    #[default]
    Even,
    /// As even as it goes.
    Preferred,
}

/// A taint of nodes that a pod does not mind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodToleration {
    pub key: String,
    /// `None`: whatever its value.
    pub value: Option<String>,
    /// `None`: every effect.
    pub effect: Option<String>,
}

impl Agents {
    #[must_use]
    pub fn count(&self) -> u32 {
        match &self.started {
            AgentsStarted::ByHand { count } => *count,
            AgentsStarted::InKubernetes(pods) => pods.count,
            AgentsStarted::BySsh { hosts, .. } => u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        }
    }
}
