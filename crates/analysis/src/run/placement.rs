//! On which nodes of a cluster the pods of a system were, over the trials of a run.

use std::collections::{BTreeMap, BTreeSet};

use waggle_results::{NodeInfo, PodInfo, ReplicaPod, RunInfo};

use crate::{run::run_model::Model, trial::trial_model::TrialModel};

/// The placement of a system of pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// By name.
    pub nodes: Vec<NodeUse>,
    /// Trials that had pods.
    pub trials: usize,
    /// Every replica began on the same node in all of these trials, wherever its pod was replaced later.
    pub is_steady: bool,
    /// Replicas whose pod was replaced by one on another node in a trial.
    pub moved: Vec<String>,
    /// The node of the runner, if it makes the load and was on none of these nodes: the name of its host.
    pub load_elsewhere: Option<String>,
}

/// What was on a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeUse {
    pub node: String,
    /// In the first trial that has them; `None`: not known.
    pub facts: Option<NodeInfo>,
    /// Why they are not.
    pub unknown: Option<String>,
    /// Replicas by name, each with the trials in which it was here.
    pub replicas: Vec<(String, usize)>,
    /// Numbers of the agents that were here.
    pub agents: Vec<u32>,
    /// The run was driven from here.
    pub has_runner: bool,
}

impl NodeUse {
    /// `c5.large (4 CPUs)`, `4 CPUs`, as far as it is known.
    #[must_use]
    pub fn hardware(&self) -> Option<String> {
        let facts = self.facts.as_ref()?;
        let cpus = format!("{} CPUs", facts.allocatable_cpus);
        Some(match &facts.instance_type {
            Some(kind) => format!("{kind} ({cpus})"),
            None => cpus,
        })
    }
}

impl Placement {
    /// `2 × c5.large (4 CPUs), not known`, in order.
    #[must_use]
    pub fn hardware(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for node in &self.nodes {
            let hardware = node.hardware().unwrap_or_else(|| "not known".to_owned());
            *counts.entry(hardware).or_default() += 1;
        }
        let texts: Vec<String> = counts
            .iter()
            .map(|(hardware, count)| format!("{count} × {hardware}"))
            .collect();
        texts.join(", ")
    }
}

/// `None`: no trial had a pod of the system.
#[must_use]
pub fn placement(model: &Model) -> Option<Placement> {
    let with_pods: Vec<&TrialModel> = model
        .trials
        .iter()
        .filter(|trial| !trial.info.pods.is_empty())
        .collect();
    if with_pods.is_empty() {
        return None;
    }
    let mut nodes: BTreeMap<&str, NodeUse> = BTreeMap::new();
    let mut first_nodes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut moved: BTreeSet<&str> = BTreeSet::new();
    for trial in &with_pods {
        for ReplicaPod { pod, .. } in &trial.info.pods {
            note_node(&mut nodes, pod);
        }
        let mut in_trial: BTreeSet<&str> = BTreeSet::new();
        // Those that were replaced come before their successors.
        for ReplicaPod { replica, pod } in &trial.info.pods {
            if in_trial.insert(replica) {
                first_nodes
                    .entry(replica)
                    .or_default()
                    .insert(&pod.node_name);
            }
        }
        let mut in_trial: BTreeSet<&str> = BTreeSet::new();
        for (replica, node) in places(&trial.info.pods) {
            if !in_trial.insert(replica) {
                moved.insert(replica);
            }
            let Some(on_node) = nodes.get_mut(node) else {
                continue;
            };
            let mut replicas = on_node.replicas.iter_mut();
            match replicas.find(|(name, _)| name == replica) {
                Some((_, trials)) => *trials += 1,
                None => on_node.replicas.push((replica.to_owned(), 1)),
            }
        }
    }
    note_load(&mut nodes, &model.info);
    let has_runner = nodes.values().any(|node| node.has_runner);
    let makes_load = model.info.agents.is_empty();
    let runner = &model.info.host.name;
    let mut nodes: Vec<NodeUse> = nodes.into_values().collect();
    for node in &mut nodes {
        node.replicas.sort();
        node.agents.sort_unstable();
    }
    Some(Placement {
        nodes,
        trials: with_pods.len(),
        is_steady: first_nodes.values().all(|nodes| nodes.len() == 1),
        moved: moved.into_iter().map(str::to_owned).collect(),
        load_elsewhere: (makes_load && !has_runner).then(|| runner.clone()),
    })
}

/// Where agents and runner were. The runner's host is the node, if it is in a pod.
fn note_load(nodes: &mut BTreeMap<&str, NodeUse>, info: &RunInfo) {
    for agent in &info.agents {
        let place = agent.pod.as_ref();
        if let Some(on_node) = place.and_then(|pod| nodes.get_mut(pod.node_name.as_str())) {
            on_node.agents.push(agent.number);
        }
    }
    if let Some(on_node) = nodes.get_mut(info.host.name.as_str()) {
        on_node.has_runner = true;
    }
}

/// Each replica with each of its nodes, once.
fn places(pods: &[ReplicaPod]) -> Vec<(&str, &str)> {
    let places = pods
        .iter()
        .map(|entry| (entry.replica.as_str(), entry.pod.node_name.as_str()));
    let mut places: Vec<(&str, &str)> = places.collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn note_node<'a>(nodes: &mut BTreeMap<&'a str, NodeUse>, pod: &'a PodInfo) {
    let known = nodes.entry(&pod.node_name).or_insert_with(|| NodeUse {
        node: pod.node_name.clone(),
        facts: None,
        unknown: None,
        replicas: Vec::new(),
        agents: Vec::new(),
        has_runner: false,
    });
    if known.facts.is_none() {
        known.facts.clone_from(&pod.node);
        known.unknown.clone_from(&pod.unknown);
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::{PodInfo, ReplicaPod};

    use super::placement;
    use crate::{
        run::run_model::Model,
        tests::simulated_run::{Scatter, Simulated},
    };

    fn pod(replica: &str, node: &str) -> ReplicaPod {
        ReplicaPod {
            replica: replica.to_owned(),
            pod: PodInfo {
                pod: format!("{replica}-pod"),
                namespace: "load".to_owned(),
                node_name: node.to_owned(),
                image: "shop:1".to_owned(),
                image_digest: None,
                qos_class: None,
                restarts: 0,
                node: None,
                unknown: Some("it may not be read".to_owned()),
                system: None,
            },
        }
    }

    #[test]
    fn replicas_are_counted_by_node() {
        let mut model = Simulated {
            scatter: Scatter::Equal,
            repetitions: 3,
            ratio: 1.0,
        }
        .model(1);
        assert_eq!(placement(&model), None);
        model.info.host.name = "bench".to_owned();
        for trial in &mut model.trials {
            trial.info.pods = vec![pod("shop-0", "a"), pod("store-0", "b")];
        }
        let trials = model.trials.len();
        let steady = placement(&model).unwrap();
        assert!(steady.is_steady);
        assert_eq!(steady.trials, trials);
        assert_eq!(steady.nodes[0].replicas, [("shop-0".to_owned(), trials)]);
        assert_eq!(steady.hardware(), "2 × not known");

        assert_eq!(steady.load_elsewhere.as_deref(), Some("bench"));

        // A pod that was replaced in a trial, on another node: an upgrade, a drain or a kill does that.
        let replaced = &mut model.trials[0].info.pods;
        replaced.insert(1, pod("shop-0", "b"));
        replaced.insert(2, pod("shop-0", "b"));
        model.info.host.name = "b".to_owned();
        let moved = placement(&model).unwrap();
        assert!(moved.is_steady);
        assert_eq!(moved.moved, ["shop-0"]);
        assert_eq!(moved.load_elsewhere, None);
        let runners: Vec<bool> = moved.nodes.iter().map(|node| node.has_runner).collect();
        assert_eq!(runners, [false, true]);
        assert_eq!(moved.nodes[0].replicas, [("shop-0".to_owned(), trials)]);
        let second = [("shop-0".to_owned(), 1), ("store-0".to_owned(), trials)];
        assert_eq!(moved.nodes[1].replicas, second);
        assert_eq!(
            moved.nodes[1].unknown.as_deref(),
            Some("it may not be read")
        );
    }

    #[test]
    fn only_first_nodes_that_differ_between_trials_are_unsteady() {
        let mut model = Simulated {
            scatter: Scatter::Equal,
            repetitions: 3,
            ratio: 1.0,
        }
        .model(1);
        let check = |model: &Model, expected: bool| {
            assert_eq!(placement(model).unwrap().is_steady, expected);
        };
        model.trials[0].info.pods = vec![pod("shop-0", "a"), pod("shop-0", "b")];
        check(&model, true);
        model.trials[1].info.pods = vec![pod("shop-0", "a")];
        check(&model, true);
        model.trials[2].info.pods = vec![pod("shop-0", "b"), pod("shop-0", "a")];
        check(&model, false);
    }
}
