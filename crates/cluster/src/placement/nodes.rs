//! What nodes are and what the pods on them ask for. A Role of one namespace does not allow to read that; without the right it is unknown.

use serde_json::Value;

use super::quantity::parse;
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::RUN_LABEL,
};

/// Why facts of nodes are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown: {0}")]
pub struct Unknown(pub String);

/// What a node is, and what else was on it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFacts {
    pub name: String,
    pub kernel: String,
    pub os_image: String,
    pub kubelet: String,
    pub runtime: String,
    pub architecture: String,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    pub zone: Option<String>,
    pub allocatable_cpus: f64,
    pub allocatable_memory_bytes: f64,
    /// Pods that do not belong to the run, and what they ask for.
    pub other_pods: u32,
    pub other_cpus: f64,
    pub other_memory_bytes: f64,
}

/// What the pods of a node ask for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requests {
    pub(super) pods: u32,
    pub(super) cpus: f64,
    pub(super) memory_bytes: f64,
}

impl Access {
    /// Facts of a node. `run`: whose pods are not "other" ones.
    ///
    /// # Errors
    /// They may not be read, or the API does not answer.
    pub async fn node_facts(&self, node: &str, run: &str) -> Result<NodeFacts, Unknown> {
        let call = Call::new(Verb::Get, Kind::Node, None).name(node);
        let object = self.call(call).await.map_err(unknown)?.value;
        let on_node = Call::new(Verb::List, Kind::Pod, None)
            .option("fieldSelector", format!("spec.nodeName={node}"));
        let pods = self.call(on_node).await.map_err(unknown)?.value;
        let is_other = |pod: &&Value| pod["metadata"]["labels"][RUN_LABEL] != run;
        let mut others = Requests::default();
        items(&pods)
            .filter(is_other)
            .for_each(|pod| others.add(pod));
        let info = &object["status"]["nodeInfo"];
        let text = |key: &str| info[key].as_str().unwrap_or_default().to_owned();
        let label = |name: &str| {
            let value = object["metadata"]["labels"][name].as_str();
            value.map(str::to_owned)
        };
        let (cpus, memory_bytes) = allocatable(&object);
        Ok(NodeFacts {
            name: node.to_owned(),
            kernel: text("kernelVersion"),
            os_image: text("osImage"),
            kubelet: text("kubeletVersion"),
            runtime: text("containerRuntimeVersion"),
            architecture: text("architecture"),
            instance_type: label("node.kubernetes.io/instance-type"),
            region: label("topology.kubernetes.io/region"),
            zone: label("topology.kubernetes.io/zone"),
            allocatable_cpus: cpus,
            allocatable_memory_bytes: memory_bytes,
            other_pods: others.pods,
            other_cpus: others.cpus,
            other_memory_bytes: others.memory_bytes,
        })
    }
}

impl Requests {
    /// Adds a pod, unless it has ended.
    pub(super) fn add(&mut self, pod: &Value) {
        if has_ended(pod) {
            return;
        }
        self.pods += 1;
        self.cpus += sum_requests(pod, "cpu");
        self.memory_bytes += sum_requests(pod, "memory");
    }
}

pub(super) fn has_ended(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str();
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// What the scheduler counts: the sum of the containers or the largest of those before them, and the pod's overhead.
fn sum_requests(pod: &Value, resource: &str) -> f64 {
    let spec = &pod["spec"];
    let of_container = |container: &Value| quantity(&container["resources"]["requests"][resource]);
    let all = |key: &str| spec[key].as_array().into_iter().flatten().map(of_container);
    let sum: f64 = all("containers").sum();
    let before = all("initContainers").fold(0.0, f64::max);
    sum.max(before) + quantity(&spec["overhead"][resource])
}

pub(super) fn allocatable(node: &Value) -> (f64, f64) {
    let allocatable = &node["status"]["allocatable"];
    (
        quantity(&allocatable["cpu"]),
        quantity(&allocatable["memory"]),
    )
}

pub(super) fn quantity(value: &Value) -> f64 {
    value.as_str().and_then(parse).unwrap_or_default()
}

pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

pub(super) fn unknown(why: ApiError) -> Unknown {
    Unknown(match why {
        ApiError::Forbidden { what, .. } => format!(
            "{what}: not allowed; `waggle cluster rbac --nodes` prints a ClusterRole that allows it"
        ),
        why => why.to_string(),
    })
}
