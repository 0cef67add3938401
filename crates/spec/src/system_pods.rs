//! The components of a system as pods of a cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ClusterPlace, ImagePull, PodSpread, PodToleration};

/// Where and of what the pods of a system are: each replica of a component is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemPods {
    pub place: ClusterPlace,
    /// An image of the system: its programs, its folder, and waggle.
    pub image: String,
    pub pull: ImagePull,
    /// Secrets with which the image is pulled.
    pub pull_secrets: Vec<String>,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<PodToleration>,
    /// Whether a component may be on the node of an agent.
    pub beside_agents: bool,
    /// How the replicas of one component are spread over nodes.
    pub spread: PodSpread,
    /// What a replica may write into its own folder, which is new at each start of the system.
    pub scratch_bytes: u64,
    /// The folder is a volume of this class, of that size; `None`: it is on the disk of the node.
    pub storage_class: Option<String>,
}
