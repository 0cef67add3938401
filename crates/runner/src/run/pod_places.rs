//! Where the pods of a run are: their nodes, and what these are.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use waggle_cluster::{Access, NodeFacts, PodPlace};
use waggle_results::{NodeInfo, PodInfo};

/// What is known of each node, or why it is not.
pub(crate) type Nodes = BTreeMap<String, Result<NodeInfo, String>>;

/// Reads the facts of nodes. `run`: whose pods are not "other" ones.
pub(crate) async fn read_nodes<'a>(
    access: &Access,
    run: &str,
    names: impl Iterator<Item = &'a str>,
) -> Nodes {
    let names: BTreeSet<&str> = names.collect();
    let reading = names.into_iter().map(async |name| {
        let facts = access.node_facts(name, run).await;
        let node = facts.map(|facts| node_info(&facts));
        (name.to_owned(), node.map_err(|why| why.to_string()))
    });
    join_all(reading).await.into_iter().collect()
}

/// What results have of a pod; `None`: it is on no node.
pub(crate) fn pod_info(place: PodPlace, namespace: &str, nodes: &Nodes) -> Option<PodInfo> {
    let node_name = place.node?;
    let (node, unknown) = match nodes.get(&node_name) {
        Some(Ok(node)) => (Some(node.clone()), None),
        Some(Err(why)) => (None, Some(why.clone())),
        None => (None, None),
    };
    Some(PodInfo {
        pod: place.pod,
        namespace: namespace.to_owned(),
        node_name,
        image: place.image,
        image_digest: place.image_digest,
        qos_class: place.qos_class,
        restarts: place.restarts,
        node,
        unknown,
        system: None,
    })
}

pub(in crate::run) fn node_info(facts: &NodeFacts) -> NodeInfo {
    NodeInfo {
        kernel: facts.kernel.clone(),
        os_image: facts.os_image.clone(),
        kubelet: facts.kubelet.clone(),
        runtime: facts.runtime.clone(),
        architecture: facts.architecture.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        zone: facts.zone.clone(),
        allocatable_cpus: facts.allocatable_cpus,
        allocatable_memory_bytes: facts.allocatable_memory_bytes,
        other_pods: facts.other_pods,
        other_cpus: facts.other_cpus,
        other_memory_bytes: facts.other_memory_bytes,
    }
}
