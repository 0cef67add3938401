//! A made-up cluster of three nodes, on which pods of manifests are loaded.

use waggle_results::{
    AgentHostInfo, AgentInfo, FaultInfo, Host, NodeInfo, PodInfo, ReplicaPod, RunInfo, TrialInfo,
    TrialKey,
};
use waggle_spec::FaultKind;

/// Where the load came from.
#[allow(dead_code, reason = "the example has not all of them")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// Two agents, one of them on the node of the gateway, and a runner on another node.
    Agents,
    /// The runner, on the node of a broker.
    Runner,
    /// The runner, which is no pod.
    Outside,
}

/// How often kubelets look in it, in intervals of the load.
pub(super) const READ_EVERY: usize = 4;

pub(super) fn add_run(cluster: Cluster, info: &mut RunInfo) {
    info.system_manifests = true;
    info.host = Host {
        name: match cluster {
            Cluster::Agents | Cluster::Runner => "node-3".to_owned(),
            Cluster::Outside => "bench-1".to_owned(),
        },
        load_cpus: Vec::new(),
        system_cpus: Vec::new(),
        shared_with_system: false,
        ..info.host.clone()
    };
    if cluster == Cluster::Agents {
        info.agents = [(1, "node-1"), (2, "node-4")].map(host).to_vec();
    }
}

/// The broker of one trial is on another node, and a drain moves the gateway in another one.
pub(super) fn add_trial(cluster: Cluster, info: &mut TrialInfo) {
    let is = |cell, repetition| info.key == TrialKey { cell, repetition };
    let second = if is(1, 2) { "node-2" } else { "node-3" };
    let mut places = vec![("gateway-0", "node-1")];
    if is(2, 3) {
        places.push(("gateway-0", "node-2"));
        info.faults = vec![drain()];
    }
    places.extend([("kafka-0", "node-2"), ("kafka-1", second)]);
    info.pods = places.into_iter().map(replica).collect();
    if cluster == Cluster::Agents {
        info.agents = (1..=2).map(agent).collect();
    }
}

fn drain() -> FaultInfo {
    FaultInfo {
        kind: FaultKind::Drain,
        component: "gateway".to_owned(),
        replica: Some(0),
        begun_s: 3.0,
        started_s: None,
        ready_s: Some(3.5),
    }
}

fn replica((name, node): (&str, &str)) -> ReplicaPod {
    ReplicaPod {
        replica: name.to_owned(),
        pod: pod(name, node),
    }
}

fn pod(name: &str, node: &str) -> PodInfo {
    PodInfo {
        pod: name.to_owned(),
        namespace: "load".to_owned(),
        node_name: node.to_owned(),
        image: "registry.example/ingest:1".to_owned(),
        image_digest: None,
        qos_class: Some("Guaranteed".to_owned()),
        restarts: 0,
        node: Some(NodeInfo {
            kernel: "6.12.9".to_owned(),
            os_image: "Debian 13".to_owned(),
            kubelet: "v1.36.3".to_owned(),
            runtime: "containerd://2.2.1".to_owned(),
            architecture: "amd64".to_owned(),
            instance_type: None,
            region: None,
            zone: None,
            allocatable_cpus: 4.0,
            allocatable_memory_bytes: 15.5 * f64::from(1 << 30),
            other_pods: 3,
            other_cpus: 0.25,
            other_memory_bytes: 2e8,
        }),
        unknown: None,
        system: None,
    }
}

fn host((number, node): (u32, &str)) -> AgentHostInfo {
    let name = format!("waggle-agents-{}", number - 1);
    AgentHostInfo {
        number,
        machine: node.to_owned(),
        kernel: "6.12.9".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_model: "Example CPU at 3.0 GHz".to_owned(),
        cpus: 1,
        cpu_quota: None,
        pod: Some(pod(&name, node)),
        is_same_program: true,
        name,
    }
}

fn agent(number: u32) -> AgentInfo {
    AgentInfo {
        number,
        name: format!("waggle-agents-{}", number - 1),
        offset_ms: 0.4,
        offset_bound_ms: 0.1,
        offset_after_ms: 0.4,
        offset_after_bound_ms: 0.1,
        wall_offset_ms: 0.4,
        drift_ppm: 0.0,
        drift_bound_ppm: 5.0,
        clock_error_ms: 0.2,
        readings: 12,
        first_sent_ms: Some(0.5),
        throttled: None,
    }
}
