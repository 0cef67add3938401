//! What a plan says of the agents that make the load: how many, the CPUs and nodes that they need, and what their cluster has of it.

use std::path::Path;

#[cfg(feature = "cluster")]
use waggle_report::wording::format;
use waggle_report::wording::{format::plural, limits};
use waggle_spec::{AgentPods, Agents, AgentsStarted, PodSpread, RunnerPod};
use waggle_study::Study;

use super::words::{labels, range};

/// Nodes that a line names.
#[cfg(feature = "cluster")]
const NODES_MAX: usize = 10;

/// `is_foreign`: others may have written the study, so nothing that it names is connected to. `has_pods`: the system is pods, too.
pub(super) fn lines(
    study: &Study,
    study_file: &Path,
    is_foreign: bool,
    has_pods: bool,
) -> Vec<String> {
    let runner = study.runner.iter().map(runner_line);
    let Some(agents) = &study.agents else {
        return runner.collect();
    };
    let (how, cpus) = match &agents.started {
        AgentsStarted::ByHand { .. } => {
            let how = "which are started by hand, with waggle agent".to_owned();
            (how, OF_HOSTS.to_owned())
        }
        AgentsStarted::BySsh { hosts, .. } => {
            let how = format!("which are started by ssh on {}", hosts.join(", "));
            (how, OF_HOSTS.to_owned())
        }
        AgentsStarted::InKubernetes(pods) => (
            "the pods of a Job in Kubernetes".to_owned(),
            needs(study, pods),
        ),
    };
    let count = plural(agents.count(), "agent");
    let used = used_count(study, agents);
    let mut lines = vec![format!("load from {count}, {how}{used}; {cpus}")];
    if let AgentsStarted::InKubernetes(pods) = &agents.started {
        lines.extend(match is_foreign {
            true => vec![
                "what the cluster has is not asked: others may have written the study".to_owned(),
            ],
            false => cluster_lines(pods, study_file, has_pods),
        });
    }
    lines.extend(runner);
    lines
}

/// `runner in a pod in Kubernetes, with 1 CPU and 512 MiB, as request and limit`
fn runner_line(runner: &RunnerPod) -> String {
    let needed = amount(u64::from(runner.pod.cpus), runner.pod.memory_bytes);
    format!("runner in a pod in Kubernetes, with {needed}, as request and limit")
}

/// `2 CPUs and 1 GiB`
fn amount(cpus: u64, memory_bytes: u64) -> String {
    let memory = limits::memory(memory_bytes);
    format!("{} and {memory}", plural(cpus, "CPU"))
}

const OF_HOSTS: &str = "CPUs are those of their hosts";

/// How many of them a load has, if not all.
fn used_count(study: &Study, agents: &Agents) -> String {
    let generators = study.cells.iter().map(|cell| cell.generators);
    let (least, most) = (generators.clone().min(), generators.max());
    match least.zip(most) {
        Some((least, most)) if least < agents.count() => {
            let used = range(least.to_string(), most.to_string());
            format!(", of which a load has {used}")
        }
        _ => String::new(),
    }
}

/// `each 2 CPUs and 1 GiB, as request and limit: 6 CPUs and 3 GiB in all; …`
fn needs(study: &Study, pods: &AgentPods) -> String {
    let (cpus, count) = (u64::from(pods.pod.cpus), u64::from(pods.count));
    let each = amount(cpus, pods.pod.memory_bytes);
    let all = amount(count * cpus, count.saturating_mul(pods.pod.memory_bytes));
    let spread = match pods.spread {
        PodSpread::OneOnEach => format!("on {}, one on each", plural(pods.count, "node")),
        PodSpread::Even => "as many on each node, give or take one".to_owned(),
        PodSpread::Preferred => "as many on each node as far as it goes".to_owned(),
    };
    let selected = match pods.pod.node_selector.is_empty() {
        true => String::new(),
        false => format!("; on nodes with {}", labels(&pods.pod.node_selector)),
    };
    let keeps_apart = (study.system_pods.as_ref()).is_some_and(|system| !system.beside_agents);
    let apart = match (pods.apart_from.is_empty(), &pods.apart_from_namespaces[..]) {
        (true, _) if keeps_apart => "; no pod of the system on their nodes".into(),
        (true, _) => "; nodes of the system are not avoided, since apart_from is not given".into(),
        (false, []) => format!("; on no node of pods with {}", labels(&pods.apart_from)),
        (false, namespaces) => format!(
            "; on no node of pods with {} in {}",
            labels(&pods.apart_from),
            namespaces.join(", ")
        ),
    };
    format!("each {each}, as request and limit: {all} in all, {spread}{selected}{apart}")
}

#[cfg(not(feature = "cluster"))]
fn cluster_lines(_pods: &AgentPods, _study_file: &Path, _has_pods: bool) -> Vec<String> {
    vec!["what the cluster has is not known: this waggle has no support for Kubernetes".to_owned()]
}

/// What the cluster has; that it cannot be asked is no error of a plan.
#[cfg(feature = "cluster")]
fn cluster_lines(pods: &AgentPods, study_file: &Path, has_pods: bool) -> Vec<String> {
    use std::time::Duration;

    /// For whatever is asked.
    const LIMIT: Duration = Duration::from_secs(5);
    let asking = waggle_runner::agent_room(pods, study_file, LIMIT);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let room = match runtime {
        Ok(runtime) => {
            let room = runtime.block_on(asking);
            // A name may still be looked up, on a thread that cannot be ended.
            runtime.shutdown_background();
            room.map_err(|why| why.to_string())
        }
        Err(why) => Err(format!("cannot start the runtime: {why}")),
    };
    match room {
        Ok(room) => room_lines(&room, pods, has_pods),
        Err(why) => vec![format!("what the cluster has is not known: {why}")],
    }
}

#[cfg(feature = "cluster")]
fn room_lines(room: &waggle_runner::AgentRoom, pods: &AgentPods, has_pods: bool) -> Vec<String> {
    let capacity = &room.capacity;
    let takes = |node: &&waggle_cluster::NodeCapacity| node.closed.is_none() && !node.has_apart;
    let open: Vec<_> = capacity.nodes.iter().filter(takes).collect();
    let free: f64 = open.iter().map(|node| node.free_cpus).sum();
    let all: f64 = open.iter().map(|node| node.cpus).sum();
    let free = match &capacity.requests_unknown {
        None => format!(
            "{} of {}",
            format::three_digits(free),
            format::three_digits(all)
        ),
        Some(_) => format!("an unknown part of {}", format::three_digits(all)),
    };
    let fits = match (room.fitting >= pods.count, room.fitting) {
        (true, _) if capacity.requests_unknown.is_some() => {
            "the agents fit if enough of it is free"
        }
        (true, _) => "the agents fit",
        (false, 0) => "no agent fits, unless the cluster adds nodes",
        (false, _) => "the agents do not fit, unless the cluster adds nodes",
    };
    let mut lines = vec![format!(
        "namespace {} of {}: {} of {} can take them, with {free} CPUs free: {fits}",
        room.namespace,
        room.server,
        open.len(),
        plural(capacity.nodes.len(), "node")
    )];
    if has_pods {
        lines.push("  the pods of the system, which need room as well, are not counted".to_owned());
    }
    if room.fitting < pods.count {
        let each = capacity.nodes.iter().take(NODES_MAX);
        let each: Vec<String> = each.map(|node| node_text(node, room)).collect();
        let more = match capacity.nodes.len().saturating_sub(NODES_MAX) {
            0 => String::new(),
            more => format!("; and {}", plural(more, "node")),
        };
        let nodes = match each.is_empty() {
            true => "no node has the labels".to_owned(),
            false => format!("{}{more}", each.join("; ")),
        };
        let has_apart = capacity.nodes.iter().any(|node| node.has_apart);
        let spread = match (pods.spread, has_apart) {
            (PodSpread::Even, true) => {
                "; with spread: even the nodes of the system count as empty ones, so each other has one agent at most; spread: preferred \
                 allows more"
            }
            _ => "",
        };
        let (fitting, count) = (room.fitting, pods.count);
        lines.push(format!("  room for {fitting} of {count}: {nodes}{spread}"));
    }
    let unknown = [
        ("what other pods ask for is", &capacity.requests_unknown),
        ("nodes of the system are", &capacity.apart_unknown),
    ];
    for (what, why) in unknown {
        lines.extend(why.as_ref().map(|why| format!("  {what} {why}")));
    }
    lines
}

/// `n1 has 0.5 of 2 CPUs and 3 GiB free: 0 fit`.
#[cfg(feature = "cluster")]
fn node_text(node: &waggle_cluster::NodeCapacity, room: &waggle_runner::AgentRoom) -> String {
    use waggle_cluster::Closed;

    let name = &node.name;
    match &node.closed {
        Some(Closed::NotReady) => return format!("{name} is not ready"),
        Some(Closed::Unschedulable) => return format!("{name} is cordoned"),
        Some(Closed::Taint(taint)) => {
            return format!("{name} has the taint {taint}, which agents do not tolerate");
        }
        None if node.has_apart => return format!("{name} has pods of the system"),
        None => {}
    }
    format!(
        "{name} has {} of {} CPUs and {} free, for {}",
        format::three_digits(node.free_cpus),
        format::three_digits(node.cpus),
        format::bytes(node.free_memory_bytes),
        node.room_for(room.size)
    )
}
