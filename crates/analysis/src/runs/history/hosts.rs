//! Which runs are of one host: that of the runner, those of the agents that made the load, and the nodes of a system of pods.

use std::collections::BTreeSet;

use waggle_results::Host as HostFacts;

use crate::{
    run::{
        placement::{NodeUse, placement},
        run_model::Model,
    },
    runs::{agent_hosts::AgentHosts, history::NamedRun},
};

/// What makes a host another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    machine: Machine,
    /// Those that made the load.
    agents: AgentHosts,
    /// The system was pods of a cluster: what their nodes were, each kind once; `None`: it was not.
    nodes: Option<Vec<String>>,
}

/// The runner's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Machine {
    name: String,
    cpu_model: String,
    cpus: u32,
}

impl Host {
    pub(super) fn new(model: &Model) -> Self {
        let info = &model.info;
        Self {
            machine: Machine::new(&info.host),
            agents: AgentHosts::new(&info.agents),
            nodes: nodes(model),
        }
    }

    /// `bench-1`, `bench-1 with agents on load-1 (2 × AMD EPYC)`.
    pub(super) fn name(&self) -> String {
        let mut name = self.machine.name.clone();
        if let Some(nodes) = &self.nodes {
            name += " with a system of pods";
            if !nodes.is_empty() {
                name += &format!(" on nodes of {}", nodes.join(" and "));
            }
        }
        match self.agents.is_empty() {
            true => name,
            false => format!("{name} with agents on {}", self.agents),
        }
    }
}

impl Machine {
    fn new(host: &HostFacts) -> Self {
        Self {
            name: host.name.clone(),
            cpu_model: host.cpu_model.clone(),
            cpus: host.cpus,
        }
    }
}

fn nodes(model: &Model) -> Option<Vec<String>> {
    let info = &model.info;
    if info.system_pods.is_none() && !info.system_manifests {
        return None;
    }
    let nodes = placement(model).map(|placement| placement.nodes);
    let known = nodes.iter().flatten().filter_map(NodeUse::hardware);
    let kinds: BTreeSet<String> = known.collect();
    Some(kinds.into_iter().collect())
}

/// Whether two runners' hosts are in the same series, as long as the hosts of their agents are.
#[must_use]
pub fn is_same_host(a: &HostFacts, b: &HostFacts) -> bool {
    Machine::new(a) == Machine::new(b)
}

/// In the order in which they first come.
pub(super) fn distinct_hosts(runs: &[NamedRun]) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for run in runs {
        let host = Host::new(&run.model);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}
