//! Sentences about the nodes of a system.

use crate::words::format;
use waggle_analysis::{NodeUse, Placement};

/// `gateway-0, kafka-1 (3 of 6 trials)`.
pub(super) fn replicas(node: &NodeUse, of_trials: usize) -> String {
    let text = |(name, trials): &(String, usize)| match *trials == of_trials {
        true => name.clone(),
        false => format!("{name} ({trials} of {of_trials} trials)"),
    };
    let all: Vec<String> = node.replicas.iter().map(text).collect();
    all.join(", ")
}

/// `1, 3`; `None`: none was there.
pub(super) fn agents(node: &NodeUse) -> Option<String> {
    let numbers: Vec<String> = node.agents.iter().map(ToString::to_string).collect();
    (!numbers.is_empty()).then(|| numbers.join(", "))
}

/// `c5.large`; `None`: not known.
pub(super) fn instance_type(node: &NodeUse) -> Option<String> {
    node.facts.as_ref()?.instance_type.clone()
}

pub(super) fn caption(placement: &Placement) -> String {
    let trials = format::plural(placement.trials, "trial");
    let mut text = format!(
        "Nodes of the cluster on which pods of the system were in {trials}; of each the CPUs and the memory that pods can have, and what \
         pods ask for that are not of the run"
    );
    let mut unknown = placement.nodes.iter();
    if let Some(why) = unknown.find_map(|node| node.unknown.as_ref()) {
        text.push_str(&format!(". What nodes are is not known of all: {why}"));
    }
    text
}

/// `None`: all trials had the same placement.
pub(super) fn unsteady(placement: &Placement) -> Option<String> {
    (!placement.is_steady).then(|| {
        "Replicas were not on the same node in all trials: differences between trials and between configurations may be those of nodes"
            .to_owned()
    })
}
