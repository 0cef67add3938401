//! Sentences about the nodes of a system.

use crate::words::format;
use waggle_analysis::{NodeUse, Placement};

/// `gateway-0, kafka-1 (3 of 6 trials)`.
pub(crate) fn replicas(node: &NodeUse, of_trials: usize) -> String {
    let text = |(name, trials): &(String, usize)| match *trials == of_trials {
        true => name.clone(),
        false => format!("{name} ({trials} of {of_trials} trials)"),
    };
    let all: Vec<String> = node.replicas.iter().map(text).collect();
    all.join(", ")
}

/// `agents 1 and 3`, `runner, agent 2`, or of a run without agents `made the load`; `None`: neither was there.
pub(super) fn load_side(node: &NodeUse, has_agents: bool) -> Option<String> {
    let runner = node.has_runner.then(|| match has_agents {
        true => "runner".to_owned(),
        false => "made the load".to_owned(),
    });
    let numbers: Vec<String> = node.agents.iter().map(ToString::to_string).collect();
    let agents = match &numbers[..] {
        [] => None,
        [number] => Some(format!("agent {number}")),
        [all @ .., last] => Some(format!("agents {} and {last}", all.join(", "))),
    };
    let both: Vec<String> = runner.into_iter().chain(agents).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// `c5.large`; `None`: not known.
pub(super) fn instance_type(node: &NodeUse) -> Option<String> {
    node.facts.as_ref()?.instance_type.clone()
}

pub(super) fn caption(placement: &Placement) -> String {
    let trials = format::plural(placement.trials, "trial");
    let mut text = format!(
        "Nodes on which pods of the system were in {trials}. CPUs and memory are what a node has for pods; of its CPUs, \"reserved by others\" \
         is what pods ask for that are neither of the system nor agents nor the runner"
    );
    if let Some(host) = &placement.load_elsewhere {
        text.push_str(&format!(". The runner, which made the load, was on {host}"));
    }
    if !placement.moved.is_empty() {
        text.push_str(&format!(
            ". Pods of {} were replaced in a trial by pods on another node; both nodes are shown",
            placement.moved.join(", ")
        ));
    }
    let mut unknown = placement.nodes.iter();
    if let Some(why) = unknown.find_map(|node| node.unknown.as_ref()) {
        text.push_str(&format!(
            ". Of some nodes it is not known what they are: {why}"
        ));
    }
    text
}

/// `None`: all trials began with the same placement.
pub(super) fn unsteady(placement: &Placement) -> Option<String> {
    (!placement.is_steady).then(|| {
        "Not every replica began on the same node in all trials: differences between trials and between configurations may be those of nodes"
            .to_owned()
    })
}
