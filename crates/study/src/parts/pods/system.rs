//! The keys of `system.pods`: the components of a system as pods, each replica one. `check` has what must hold.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{ImagePull, PodSpread};

use super::options::{PlaceKeys, PodKeys, Toleration};
use crate::{
    at::{At, Key},
    raw::Size,
};

/// The components of the system are pods of a cluster, each replica one, in place of processes of this machine. Needs a waggle with
/// support for Kubernetes. The run is driven from a pod, too.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComponentPods {
    /// An image of the system, as `waggle system image` makes it, with its tag or digest.
    #[schemars(required)]
    pub image: Key<String>,
    /// The kubeconfig, relative to the study's folder; by default that of the runner, else of the agents, else of the environment
    /// (KUBECONFIG, or `~/.kube/config`), or within a pod its service account.
    pub kubeconfig: Key<String>,
    /// Which context; that of the runner or of the agents by default, else the file's `current-context`.
    pub context: Key<String>,
    /// Where the pods are; by default where the runner is, else that of the context. One run has it at a time.
    pub namespace: Key<String>,
    /// When a node pulls the image; if_not_present by default.
    pub pull: Key<ImagePull>,
    /// Secrets of the namespace with which the image is pulled.
    #[schemars(length(min = 1, max = 10))]
    pub pull_secrets: Key<Vec<At<String>>>,
    /// Labels that nodes of components have.
    #[schemars(extend("x-waggle-keys" = "label"))]
    pub node_selector: Key<IndexMap<String, At<String>>>,
    /// Taints of nodes that components do not mind.
    #[schemars(length(min = 1, max = 20))]
    pub tolerations: Key<Vec<At<Toleration>>>,
    /// Whether a component may be on the node of an agent; false by default.
    pub beside_agents: Key<bool>,
    /// How the replicas of a component are spread over nodes; preferred by default.
    pub spread: Key<PodSpread>,
    /// How much each replica may write into its own folder, which is empty at each start of the system; from 16MiB, 10GiB by default.
    pub scratch: Key<Size>,
    /// The class of a volume of that size, which is made for each replica and removed with it; by default the folder is on the disk of
    /// the node.
    pub storage_class: Key<String>,
}

impl ComponentPods {
    pub(crate) fn pod_keys(&self) -> PodKeys<'_> {
        PodKeys {
            image: &self.image,
            pull: &self.pull,
            pull_secrets: &self.pull_secrets,
            node_selector: &self.node_selector,
            tolerations: &self.tolerations,
        }
    }

    pub(crate) fn place_keys(&self) -> PlaceKeys<'_> {
        PlaceKeys {
            kubeconfig: &self.kubeconfig,
            context: &self.context,
            namespace: &self.namespace,
        }
    }
}
