//! What a cluster has for agents: nodes that take them, what is free there, and how many fit.

use std::collections::BTreeMap;

use serde_json::Value;

use super::nodes::{Requests, Unknown, allocatable, items, quantity, unknown};
use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    job::{Spread, Toleration},
    labels::selector,
};

/// Where pods may be.
#[derive(Debug, Clone, Default)]
pub struct WantedNodes {
    /// Labels that their nodes have.
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    /// Labels of pods that are on none of their nodes; empty: any may be.
    pub apart_from: BTreeMap<String, String>,
    /// Namespaces of those pods; not empty if there are labels.
    pub apart_from_namespaces: Vec<String>,
}

/// What a cluster has for pods.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Capacity {
    /// Those with the labels.
    pub nodes: Vec<NodeCapacity>,
    /// Why it is not known what other pods ask for: then all that is allocatable counts as free.
    pub requests_unknown: Option<Unknown>,
    /// Why it is not known where the pods are that these are kept apart from: then they count as being nowhere.
    pub apart_unknown: Option<Unknown>,
}

/// What a node has for pods.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeCapacity {
    pub name: String,
    /// Why it takes none of them at all.
    pub closed: Option<Closed>,
    /// A pod that they are kept apart from is there.
    pub has_apart: bool,
    pub cpus: f64,
    pub memory_bytes: f64,
    pub free_cpus: f64,
    pub free_memory_bytes: f64,
    /// Pods that it takes beside those which are there.
    pub free_pods: u32,
}

/// Why a node takes no pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    NotReady,
    /// It was cordoned.
    Unschedulable,
    /// The taint that is not tolerated: `key=value:NoSchedule`.
    Taint(String),
}

/// What a pod asks for.
#[derive(Debug, Clone, Copy)]
pub struct PodSize {
    pub cpus: u32,
    pub memory_bytes: u64,
}

impl Access {
    /// What the nodes that are wanted have, and what of it no pod asks for.
    ///
    /// # Errors
    /// Nodes may not be listed, or the API does not answer.
    pub async fn capacity(&self, wanted: &WantedNodes) -> Result<Capacity, Unknown> {
        let mut listing = Call::new(Verb::List, Kind::Node, None);
        if !wanted.node_selector.is_empty() {
            listing = listing.option("labelSelector", selector(&wanted.node_selector));
        }
        let nodes = self.call(listing).await.map_err(unknown)?.value;
        let pods = Call::new(Verb::List, Kind::Pod, None);
        let (pods, requests_unknown) = match self.call(pods).await {
            Ok(answer) => (answer.value, None),
            Err(why) => (Value::Null, Some(unknown(why))),
        };
        let (apart, apart_unknown) = match self.nodes_with_apart(wanted).await {
            Ok(nodes) => (nodes, None),
            Err(why) => (Vec::new(), Some(Unknown(why.to_string()))),
        };
        let mut requests: BTreeMap<&str, Requests> = BTreeMap::new();
        for pod in items(&pods) {
            if let Some(node) = pod["spec"]["nodeName"].as_str() {
                requests.entry(node).or_default().add(pod);
            }
        }
        let mut capacities: Vec<NodeCapacity> = Vec::new();
        for node in items(&nodes) {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let requests = requests.get(name).copied().unwrap_or_default();
            capacities.push(NodeCapacity {
                has_apart: apart.iter().any(|node| node == name),
                ..node_capacity(node, requests, &wanted.tolerations)
            });
        }
        Ok(Capacity {
            nodes: capacities,
            requests_unknown,
            apart_unknown,
        })
    }

    /// The nodes of the pods that others are kept apart from. In its own namespace a Role of that is enough.
    async fn nodes_with_apart(&self, wanted: &WantedNodes) -> Result<Vec<String>, ApiError> {
        let mut nodes = Vec::new();
        if wanted.apart_from.is_empty() {
            return Ok(nodes);
        }
        for namespace in &wanted.apart_from_namespaces {
            let pods = self.pods_with_labels(namespace, &wanted.apart_from).await?;
            nodes.extend(pods.into_iter().map(|pod| pod.node));
        }
        Ok(nodes)
    }
}

impl Capacity {
    /// How many pods of this size fit.
    #[must_use]
    pub fn room_for(&self, pod: PodSize, spread: Spread) -> u32 {
        // Nodes with pods that these are kept apart from count where pods are spread: nothing is on them, so others have one at most.
        let open = self.nodes.iter().filter(|node| node.closed.is_none());
        let rooms: Vec<u32> = open.map(|node| node.room_for(pod)).collect();
        let on_each = match spread {
            Spread::OneOnEach => 1,
            Spread::Even => rooms
                .iter()
                .min()
                .map_or(0, |least| least.saturating_add(1)),
            Spread::Preferred => u32::MAX,
        };
        rooms
            .iter()
            .fold(0, |sum: u32, room| sum.saturating_add((*room).min(on_each)))
    }
}

impl NodeCapacity {
    /// How many pods of this size fit.
    #[must_use]
    pub fn room_for(&self, pod: PodSize) -> u32 {
        if self.closed.is_some() || self.has_apart {
            return 0;
        }
        // What is asked for in thousandths adds up to a little more or less.
        let by_cpus = (self.free_cpus + 1e-6) / f64::from(pod.cpus.max(1));
        #[expect(
            clippy::cast_precision_loss,
            reason = "bytes of a machine's memory are below 2^53"
        )]
        let by_memory = self.free_memory_bytes / pod.memory_bytes.max(1) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, and a node has few CPUs"
        )]
        let count = by_cpus.min(by_memory).max(0.0) as u32;
        count.min(self.free_pods)
    }
}

fn node_capacity(node: &Value, requests: Requests, tolerations: &[Toleration]) -> NodeCapacity {
    let (cpus, memory_bytes) = allocatable(node);
    let pods = quantity(&node["status"]["allocatable"]["pods"]);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and a node has few pods"
    )]
    let pods = pods as u32;
    NodeCapacity {
        name: node["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        closed: find_closed(node, tolerations),
        has_apart: false,
        cpus,
        memory_bytes,
        free_cpus: (cpus - requests.cpus).max(0.0),
        free_memory_bytes: (memory_bytes - requests.memory_bytes).max(0.0),
        free_pods: pods.saturating_sub(requests.pods),
    }
}

fn find_closed(node: &Value, tolerations: &[Toleration]) -> Option<Closed> {
    let mut conditions = node["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten();
    let is_ready =
        |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    if !conditions.any(is_ready) {
        return Some(Closed::NotReady);
    }
    let mut taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let is_tolerated = |taint: &Value| tolerations.iter().any(|given| given.covers(taint));
    let keeps_out = |taint: &&Value| taint["effect"] != "PreferNoSchedule" && !is_tolerated(taint);
    // A node that was cordoned has a taint, which can be tolerated.
    let first = taints.find(keeps_out);
    first.map(closed_by)
}

fn closed_by(taint: &Value) -> Closed {
    let part = |name: &str| taint[name].as_str().unwrap_or_default();
    match (part("key"), part("value"), part("effect")) {
        ("node.kubernetes.io/unschedulable", ..) => Closed::Unschedulable,
        (key, "", effect) => Closed::Taint(format!("{key}:{effect}")),
        (key, value, effect) => Closed::Taint(format!("{key}={value}:{effect}")),
    }
}

impl Toleration {
    fn covers(&self, taint: &Value) -> bool {
        let is = |given: &str, name: &str| taint[name].as_str().unwrap_or_default() == given;
        (self.key.is_empty() || is(&self.key, "key"))
            && self.value.as_ref().is_none_or(|value| is(value, "value"))
            && self
                .effect
                .as_ref()
                .is_none_or(|effect| is(effect, "effect"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Capacity, Closed, NodeCapacity, PodSize, find_closed};
    use crate::job::{Spread, Toleration};

    fn node(cpus: f64) -> NodeCapacity {
        NodeCapacity {
            name: "n".to_owned(),
            closed: None,
            has_apart: false,
            cpus: 4.0,
            memory_bytes: 8e9,
            free_cpus: cpus,
            free_memory_bytes: 8e9,
            free_pods: 110,
        }
    }

    #[track_caller]
    fn check_room(nodes: Vec<NodeCapacity>, [one_on_each, even, preferred]: [u32; 3]) {
        let capacity = Capacity {
            nodes,
            ..Capacity::default()
        };
        let pod = PodSize {
            cpus: 1,
            memory_bytes: 1 << 30,
        };
        let room = |spread| capacity.room_for(pod, spread);
        assert_eq!(room(Spread::OneOnEach), one_on_each);
        assert_eq!(room(Spread::Even), even);
        assert_eq!(room(Spread::Preferred), preferred);
    }

    #[test]
    fn room_depends_on_how_pods_are_spread() {
        check_room(Vec::new(), [0, 0, 0]);
        check_room(vec![node(4.0)], [1, 4, 4]);
        check_room(vec![node(4.0), node(1.0)], [2, 3, 5]);
        check_room(vec![node(4.0), node(0.9)], [1, 1, 4]);
        let apart = NodeCapacity {
            has_apart: true,
            ..node(4.0)
        };
        check_room(vec![node(4.0), node(3.0), apart], [2, 2, 7]);
        let cordoned = NodeCapacity {
            closed: Some(Closed::Unschedulable),
            ..node(4.0)
        };
        check_room(vec![node(4.0), node(3.0), cordoned], [2, 7, 7]);
        let full = NodeCapacity {
            free_pods: 1,
            ..node(4.0)
        };
        check_room(vec![full], [1, 1, 1]);
        let memory = NodeCapacity {
            free_memory_bytes: 2.1e9,
            ..node(4.0)
        };
        check_room(vec![memory], [1, 1, 1]);
    }

    #[test]
    fn nodes_take_pods_by_their_taints() {
        let with = |taint: serde_json::Value| {
            json!({
                "spec": { "taints": [taint] },
                "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
            })
        };
        let tolerated = |key: &str, value: Option<&str>, effect: Option<&str>| Toleration {
            key: key.to_owned(),
            value: value.map(str::to_owned),
            effect: effect.map(str::to_owned),
        };
        let gpu = with(json!({ "key": "gpu", "value": "yes", "effect": "NoSchedule" }));
        let taint = Some(Closed::Taint("gpu=yes:NoSchedule".to_owned()));
        assert_eq!(find_closed(&gpu, &[]), taint);
        assert_eq!(find_closed(&gpu, &[tolerated("gpu", None, None)]), None);
        assert_eq!(find_closed(&gpu, &[tolerated("", None, None)]), None);
        assert_eq!(
            find_closed(&gpu, &[tolerated("gpu", Some("no"), None)]),
            taint
        );
        let other_effect = tolerated("gpu", Some("yes"), Some("NoExecute"));
        assert_eq!(find_closed(&gpu, &[other_effect]), taint);
        let soft = with(json!({ "key": "gpu", "effect": "PreferNoSchedule" }));
        assert_eq!(find_closed(&soft, &[]), None);
        let cordoned =
            with(json!({ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" }));
        assert_eq!(find_closed(&cordoned, &[]), Some(Closed::Unschedulable));
        assert_eq!(find_closed(&json!({}), &[]), Some(Closed::NotReady));
    }
}
