//! What nodes are and what of them is free. A Role of one namespace does not allow to read that; without the right it is unknown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::quantity::parse;
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::{RUN_LABEL, selector},
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

/// What a cluster has for agents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Capacity {
    pub nodes: Vec<NodeCapacity>,
}

/// What a node has for agents.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeCapacity {
    pub name: String,
    /// It takes pods, by its taints too.
    pub is_schedulable: bool,
    pub cpus: f64,
    pub memory_bytes: f64,
    pub free_cpus: f64,
    pub free_memory_bytes: f64,
}

/// What the pods of a node ask for.
#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    pods: u32,
    cpus: f64,
    memory_bytes: f64,
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

    /// What the nodes with these labels have, and what of it no pod asks for.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn capacity(&self, labels: &BTreeMap<String, String>) -> Result<Capacity, Unknown> {
        let nodes = Call::new(Verb::List, Kind::Node, None);
        let nodes = nodes.option("labelSelector", selector(labels));
        let nodes = self.call(nodes).await.map_err(unknown)?.value;
        let pods = Call::new(Verb::List, Kind::Pod, None);
        let pods = self.call(pods).await.map_err(unknown)?.value;
        let mut requests: BTreeMap<&str, Requests> = BTreeMap::new();
        for pod in items(&pods) {
            if let Some(node) = pod["spec"]["nodeName"].as_str() {
                requests.entry(node).or_default().add(pod);
            }
        }
        let nodes = items(&nodes).map(|node| {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            node_capacity(node, requests.get(name).copied().unwrap_or_default())
        });
        let nodes = nodes.collect();
        Ok(Capacity { nodes })
    }
}

impl Capacity {
    /// How many pods of this size fit, at most so many on one node.
    #[must_use]
    pub fn room_for(&self, cpus: u32, memory_bytes: u64, on_one_node: u32) -> u32 {
        let usable = self.nodes.iter().filter(|node| node.is_schedulable);
        usable
            .map(|node| node.room_for(cpus, memory_bytes).min(on_one_node))
            .sum()
    }

    /// Free CPUs of all nodes that take pods.
    #[must_use]
    pub fn free_cpus(&self) -> f64 {
        let usable = self.nodes.iter().filter(|node| node.is_schedulable);
        usable.map(|node| node.free_cpus).sum()
    }
}

impl NodeCapacity {
    fn room_for(&self, cpus: u32, memory_bytes: u64) -> u32 {
        let by_cpus = self.free_cpus / f64::from(cpus.max(1));
        #[expect(
            clippy::cast_precision_loss,
            reason = "bytes of a machine's memory are below 2^53"
        )]
        let by_memory = self.free_memory_bytes / memory_bytes.max(1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, and a node has few CPUs"
        )]
        let count = by_cpus.min(by_memory).max(0.0) as u32;
        count
    }
}

impl Requests {
    /// Adds a pod, unless it has ended.
    fn add(&mut self, pod: &Value) {
        if matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        ) {
            return;
        }
        self.pods += 1;
        self.cpus += sum_requests(pod, "cpu");
        self.memory_bytes += sum_requests(pod, "memory");
    }
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

fn node_capacity(node: &Value, requests: Requests) -> NodeCapacity {
    let (cpus, memory_bytes) = allocatable(node);
    let taints = node["spec"]["taints"].as_array();
    let keeps_out = |taint: &Value| taint["effect"] != "PreferNoSchedule";
    let is_tainted = taints.is_some_and(|taints| taints.iter().any(keeps_out));
    let conditions = node["status"]["conditions"].as_array();
    let is_ready =
        |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    let is_ready = conditions.is_some_and(|conditions| conditions.iter().any(is_ready));
    NodeCapacity {
        name: node["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        is_schedulable: is_ready && !is_tainted && node["spec"]["unschedulable"] != true,
        cpus,
        memory_bytes,
        free_cpus: (cpus - requests.cpus).max(0.0),
        free_memory_bytes: (memory_bytes - requests.memory_bytes).max(0.0),
    }
}

fn allocatable(node: &Value) -> (f64, f64) {
    let allocatable = &node["status"]["allocatable"];
    (
        quantity(&allocatable["cpu"]),
        quantity(&allocatable["memory"]),
    )
}

fn quantity(value: &Value) -> f64 {
    value.as_str().and_then(parse).unwrap_or_default()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn unknown(why: ApiError) -> Unknown {
    Unknown(match why {
        ApiError::Forbidden { what, .. } => format!(
            "{what}: not allowed; `waggle cluster rbac --nodes` prints a ClusterRole that allows it"
        ),
        why => why.to_string(),
    })
}
