//! The agents that made the load: their hosts, their clocks and their starts.

use waggle_analysis::{Model, Placement, external_components, placement};
use waggle_results::{AgentHostInfo, AgentInfo, NodeInfo, PodInfo, RunInfo, SystemOnNode};

use crate::{
    parts::system::placement::words::replicas,
    words::{
        fact::Fact,
        format::{self, Unit},
    },
};

/// `None`: the load was made on the runner's machine.
pub(crate) fn facts(model: &Model) -> Vec<Fact> {
    let hosts = &model.info.agents;
    if hosts.is_empty() {
        return Vec::new();
    }
    let trials = model.trials.iter();
    let agents: Vec<&AgentInfo> = trials.flat_map(|trial| &trial.info.agents).collect();
    let mut facts = vec![("Agents", hosts_text(model))];
    if !agents.is_empty() {
        let are_delays = model.info.delivery_probe.is_some();
        facts.push(("Clocks of agents", clocks(&agents, are_delays)));
        facts.extend(starts(model));
    }
    facts
}

fn hosts_text(model: &Model) -> String {
    let hosts = &model.info.agents;
    let mut machines: Vec<&str> = hosts.iter().map(|host| host.machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let each: Vec<String> = hosts.iter().map(|host| host_text(host, model)).collect();
    let kernels = match (machines.len(), hosts.len()) {
        (1, 1) => String::new(),
        (1, _) => "; all on one kernel".to_owned(),
        (kernels, agents) if kernels == agents => "; each on a kernel of its own".to_owned(),
        (kernels, _) => format!("; on {kernels} kernels"),
    };
    format!("{}{kernels}", each.join(", "))
}

fn host_text(host: &AgentHostInfo, model: &Model) -> String {
    let quota = host.cpu_quota.map(format::three_digits);
    let quota = quota.map_or_else(String::new, |quota| {
        format!(", at most {quota} of them at a time")
    });
    let program = match host.is_same_program {
        true => "",
        false => ", of another architecture than the runner",
    };
    let pod = host.pod.as_ref();
    let place = pod.map_or_else(String::new, |pod| pod_text(pod, model));
    let (number, name, cpus) = (host.number, &host.name, host.cpus);
    format!(
        "{number} {name} ({cpus} × {}{quota}{program}{place})",
        host.cpu_model
    )
}

/// Where a pod is, and what else is there.
fn pod_text(pod: &PodInfo, model: &Model) -> String {
    let image = pod.image_digest.as_ref().unwrap_or(&pod.image);
    let class = pod.qos_class.as_deref().unwrap_or("class not known");
    let node = match (&pod.node, &pod.unknown) {
        (Some(node), _) => node_text(node),
        (None, Some(why)) => format!("facts of the node are not known: {why}"),
        (None, None) => "facts of the node are not known".to_owned(),
    };
    let system = system_text(pod, model);
    format!(
        "; pod {} of {} on node {}{system}, {class}, {}, image {image}; {node}",
        pod.pod,
        pod.namespace,
        pod.node_name,
        format::plural(u64::from(pod.restarts), "restart")
    )
}

/// Whether the system was on the node of an agent: its own pods by the trials, the rest as far as it was found.
fn system_text(agent: &PodInfo, model: &Model) -> String {
    let pods = placement(model);
    let mut shared: Vec<String> = Vec::new();
    shared.extend(pods.as_ref().and_then(|pods| shared_replicas(agent, pods)));
    if let Some(SystemOnNode::Shared { what }) = &agent.system {
        shared.extend(what.iter().cloned());
    }
    let is_unknown = pods.is_none() && are_pods(&model.info);
    let known = match (&shared[..], &agent.system) {
        ([], Some(SystemOnNode::Unknown { why })) if pods.is_none() => {
            return format!(", and it is not known whether the system is there, too ({why})");
        }
        ([], _) if is_unknown => {
            ", and it is not known whether the system is there, too (no trial has pods of it)"
                .to_owned()
        }
        ([], None) if pods.is_none() => String::new(),
        ([], _) => ", the system on others".to_owned(),
        (shared, _) => format!(" together with the system ({})", shared.join(", ")),
    };
    match &agent.system {
        Some(SystemOnNode::Unknown { why }) => match &external_components(&model.info)[..] {
            [] => known,
            names => format!(
                "{known}, and it is not known where {} is ({why})",
                names.join(", ")
            ),
        },
        _ => known,
    }
}

/// The replicas on the node of an agent; `None`: there are none.
fn shared_replicas(agent: &PodInfo, pods: &Placement) -> Option<String> {
    let mut nodes = pods.nodes.iter();
    let here = nodes.find(|node| node.node == agent.node_name)?;
    (!here.replicas.is_empty()).then(|| replicas(here, pods.trials))
}

/// The run starts its system as pods.
fn are_pods(info: &RunInfo) -> bool {
    info.system_pods.is_some() || info.system_manifests
}

/// `c5.large in eu-1a, kernel …, containerd …, kubelet …; 0.5 of the node's 2 CPUs …`.
pub(super) fn node_text(node: &NodeInfo) -> String {
    let machine = [&node.instance_type, &node.zone];
    let machine: Vec<&str> = machine.iter().filter_map(|text| text.as_deref()).collect();
    let machine = match machine.is_empty() {
        true => String::new(),
        false => format!("{}, ", machine.join(" in ")),
    };
    format!(
        "{machine}kernel {}, {}, kubelet {}; {} of the node's {} CPUs were asked for by {} that are not of the run",
        node.kernel,
        node.runtime,
        node.kubelet,
        format::three_digits(node.other_cpus),
        format::three_digits(node.allocatable_cpus),
        format::plural(u64::from(node.other_pods), "pod")
    )
}

fn clocks(agents: &[&AgentInfo], are_delays: bool) -> String {
    let most = |value: fn(&AgentInfo) -> f64| {
        let values = agents.iter().map(|agent| value(agent).abs());
        Unit::Time.show(values.fold(0.0, f64::max) * 1e3)
    };
    let included = if are_delays {
        ", which delays include"
    } else {
        ""
    };
    let mut text = format!(
        "read before, during and after each load by requests and answers: known to within {} when a load began; instants wrong by at most \
         {}{included}",
        most(|agent| agent.offset_bound_ms),
        most(|agent| agent.clock_error_ms)
    );
    // Stamps are in the runner's time, whatever the wall clocks of agents say.
    let wrong = agents
        .iter()
        .filter(|agent| agent.wall_offset_ms.abs() >= WALL_CLOCK_OFF_MS);
    let worst = wrong.max_by(|first, second| {
        first
            .wall_offset_ms
            .abs()
            .total_cmp(&second.wall_offset_ms.abs())
    });
    if let Some(agent) = worst {
        let off = Unit::Time.show(agent.wall_offset_ms.abs() * 1e3);
        let side = if agent.wall_offset_ms > 0.0 {
            "ahead"
        } else {
            "behind"
        };
        text.push_str(&format!(
            "; the wall clock of {} was {off} {side} of the runner's, and nothing was computed with it",
            agent.name
        ));
    }
    text
}

/// From here on the wall clock of an agent is worth a word.
const WALL_CLOCK_OFF_MS: f64 = 1_000.0;

/// How far apart agents sent their first requests, in the worst trial.
fn starts(model: &Model) -> Option<Fact> {
    let spreads = model
        .trials
        .iter()
        .filter_map(|trial| spread(&trial.info.agents));
    let most = spreads.reduce(f64::max)?;
    let shown = Unit::Time.show(most * 1e3);
    Some((
        "Starts of agents",
        format!(
            "at one instant in the clock of each; first requests at most {shown} apart, by what each had to send first"
        ),
    ))
}

/// From the first request of the first agent to that of the last one.
fn spread(agents: &[AgentInfo]) -> Option<f64> {
    let firsts: Vec<f64> = (agents.iter())
        .filter_map(|agent| agent.first_sent_ms)
        .collect();
    let earliest = firsts.iter().copied().reduce(f64::min)?;
    let latest = firsts.iter().copied().reduce(f64::max)?;
    (firsts.len() > 1).then_some(latest - earliest)
}
