//! `agents.kubernetes`: agents as the pods of an Indexed Job.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::{ImagePull, PodSpread};

use crate::{
    at::{At, Key},
    check::Checker,
    parts::pods::options::{
        PlaceKeys, PodKeys, SizeKeys, Toleration, cluster_place, labels, namespace_name,
        pod_options,
    },
    raw::Size,
};

/// The pods of an Indexed Job, each an agent with CPUs and memory of its own. Needs a waggle with support for Kubernetes, and only what
/// `waggle cluster rbac` prints.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentPods {
    /// The image of this waggle, with its tag or digest.
    #[schemars(required)]
    pub image: Key<String>,
    /// The kubeconfig, relative to the study's folder; by default that of the environment (KUBECONFIG, or `~/.kube/config`), or within
    /// a pod its service account.
    pub kubeconfig: Key<String>,
    /// Which context; the file's `current-context` by default.
    pub context: Key<String>,
    /// Where the pods are; that of the context by default. One run has it at a time.
    pub namespace: Key<String>,
    /// The namespace is made for the run, and removed with it; false by default.
    pub make_namespace: Key<bool>,
    /// When a node pulls the image; if_not_present by default.
    pub pull: Key<ImagePull>,
    /// Secrets of the namespace with which the image is pulled.
    #[schemars(length(min = 1, max = 10))]
    pub pull_secrets: Key<Vec<At<String>>>,
    /// Whole CPUs of each agent, as request and limit; 1 by default.
    #[schemars(range(min = 1, max = 1_024))]
    pub cpus: Key<u32>,
    /// Memory of each agent, as request and limit, from 64MiB; 512MiB by default.
    pub memory: Key<Size>,
    /// Labels that nodes of agents have.
    #[schemars(extend("x-waggle-keys" = "label"))]
    pub node_selector: Key<IndexMap<String, At<String>>>,
    /// Taints of nodes that agents do not mind.
    #[schemars(length(min = 1, max = 20))]
    pub tolerations: Key<Vec<At<Toleration>>>,
    /// Labels of the system's pods: none of them is on the node of an agent, or the agent does not start. Without it they may share
    /// nodes, and the report says where each was.
    #[schemars(extend("x-waggle-keys" = "label"))]
    pub apart_from: Key<IndexMap<String, At<String>>>,
    /// Namespaces of those pods; that of the agents by default.
    #[schemars(length(min = 1, max = 20))]
    pub apart_from_namespaces: Key<Vec<At<String>>>,
    /// How agents are spread over nodes; even by default.
    pub spread: Key<PodSpread>,
}

/// `None`: something in it is wrong, which is reported.
pub(super) fn agent_pods(
    checker: &mut Checker<'_>,
    At { value: keys, .. }: &At<AgentPods>,
    count: u32,
) -> Option<waggle_spec::AgentPods> {
    let pod = pod_options(checker, &keys.pod_keys(), &keys.size_keys());
    let place = cluster_place(checker, &keys.place_keys());
    let makes_namespace = keys.make_namespace.value().copied().unwrap_or(false);
    if let (true, None, Some(place)) = (
        makes_namespace,
        keys.namespace.content(),
        keys.make_namespace.place(),
    ) {
        let mistake = place.key_mistake("lacks its name");
        checker.report(mistake.with_expected("namespace beside it"));
    }
    let spaces = keys.apart_from_namespaces.value();
    let spaces = spaces.map_or_else(Vec::new, Clone::clone);
    let spaces: Vec<Option<_>> = spaces
        .iter()
        .map(|given| namespace_name(checker, given))
        .collect();
    if let (false, Some(place)) = (
        keys.apart_from.is_some(),
        keys.apart_from_namespaces.place(),
    ) {
        let mistake = place.key_mistake("belongs to apart_from");
        checker.report(mistake.with_expected("apart_from, the labels of the pods"));
    }
    Some(waggle_spec::AgentPods {
        count,
        place: place?,
        makes_namespace,
        pod: pod?,
        apart_from: labels(&keys.apart_from),
        apart_from_namespaces: spaces.into_iter().collect::<Option<_>>()?,
        spread: keys.spread.or_default(PodSpread::default())?,
    })
}

impl AgentPods {
    fn pod_keys(&self) -> PodKeys<'_> {
        PodKeys {
            image: &self.image,
            pull: &self.pull,
            pull_secrets: &self.pull_secrets,
            node_selector: &self.node_selector,
            tolerations: &self.tolerations,
        }
    }

    fn size_keys(&self) -> SizeKeys<'_> {
        SizeKeys {
            cpus: &self.cpus,
            memory: &self.memory,
        }
    }

    fn place_keys(&self) -> PlaceKeys<'_> {
        PlaceKeys {
            kubeconfig: &self.kubeconfig,
            context: &self.context,
            namespace: &self.namespace,
        }
    }
}
