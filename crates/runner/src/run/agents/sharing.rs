//! Whether the system is on the nodes of agents: looked for by the labels from which agents are kept apart, and by its address. Pods that the
//! run starts are not looked for: each trial notes their nodes.

use std::collections::{BTreeMap, BTreeSet};

use waggle_cluster::{Access, Behind, SystemPod};
use waggle_results::SystemOnNode;
use waggle_spec::AgentPods;
use waggle_study::{Address, Study, System};

/// What of a system is looked for.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The hosts by which others reach it. None is of this machine.
    hosts: Vec<String>,
    /// The run starts it as pods, all of it but what is reached by the hosts.
    has_own_pods: bool,
}

impl Wanted {
    pub(super) fn new(system: &System, study: &Study) -> Self {
        Self {
            hosts: system_hosts(system),
            has_own_pods: study.system_pods.is_some() || system.manifests.is_some(),
        }
    }

    /// False: the trials have the nodes of all that is the system.
    pub(super) fn is_something(&self) -> bool {
        !(self.has_own_pods && self.hosts.is_empty())
    }

    /// Labels of the run's own pods would be those of other trials, or of none.
    fn labels<'a>(&self, pods: &'a AgentPods) -> Option<&'a BTreeMap<String, String>> {
        let is_given = !self.has_own_pods && !pods.apart_from.is_empty();
        is_given.then_some(&pods.apart_from)
    }
}

/// Where a system is, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct SystemPlaces {
    /// What is where: the name of a pod or an address, and its node.
    found: BTreeSet<(String, String)>,
    /// Why something is not known.
    unknown: Vec<String>,
}

/// The hosts by which others reach a system. None is of this machine.
fn system_hosts(system: &System) -> Vec<String> {
    let server = system.external.iter().map(waggle_study::External::address);
    let components = system.components.iter();
    let ports = components.flat_map(|component| component.external.iter().flatten());
    let ports = ports.flat_map(|port| port.at.iter().cloned());
    let addresses = server
        .chain(ports)
        .filter(|address| !address.is_on_this_machine());
    let hosts: BTreeSet<String> = addresses.map(|Address { host, .. }| host).collect();
    hosts.into_iter().collect()
}

/// Looks for a system; `namespace`: of the agents.
pub(super) async fn find_system(
    access: &Access,
    pods: &AgentPods,
    namespace: &str,
    wanted: &Wanted,
) -> SystemPlaces {
    let mut places = SystemPlaces::default();
    let agents_namespace = [namespace.to_owned()];
    let namespaces = match &pods.apart_from_namespaces[..] {
        [] => &agents_namespace[..],
        given => given,
    };
    let labels = wanted.labels(pods);
    let labelled = labels.iter().flat_map(|labels| {
        let namespaces = namespaces.iter();
        namespaces.map(move |namespace| (namespace, *labels))
    });
    for (namespace, labels) in labelled {
        match access.pods_with_labels(namespace, labels).await {
            Ok(pods) if pods.is_empty() => places.unknown.push(format!(
                "no pod in namespace {namespace} has the labels of apart_from"
            )),
            Ok(pods) => places.add(pods),
            Err(why) => places.unknown.push(why.to_string()),
        }
    }
    for host in &wanted.hosts {
        match access.find_behind(host, namespace).await {
            Ok(Behind::Pods(pods)) => places.add(pods),
            Ok(Behind::Node(node)) => {
                places.found.insert((format!("its address {host}"), node));
            }
            Err(why) => places.unknown.push(why.0),
        }
    }
    places
}

impl SystemPlaces {
    fn add(&mut self, pods: Vec<SystemPod>) {
        let names = pods
            .into_iter()
            .map(|pod| (format!("{}/{}", pod.namespace, pod.name), pod.node));
        self.found.extend(names);
    }

    /// What of the system is on a node.
    pub(super) fn look_on(&self, node: &str) -> SystemOnNode {
        let here = self.found.iter().filter(|(_, place)| place == node);
        let what: Vec<String> = here.map(|(what, _)| what.clone()).collect();
        if !what.is_empty() {
            return SystemOnNode::Shared { what };
        }
        // What was found by one way is the system, even if the other way leads nowhere.
        if !self.found.is_empty() {
            return SystemOnNode::Apart;
        }
        let why = match self.unknown.is_empty() {
            true => "the system has no address outside this machine".to_owned(),
            false => self.unknown.join("; "),
        };
        SystemOnNode::Unknown { why }
    }
}

/// What is known of a node after a second look: once shared is shared.
pub(super) fn merge_looks(first: Option<SystemOnNode>, second: SystemOnNode) -> SystemOnNode {
    match (first, second) {
        (Some(SystemOnNode::Shared { what: mut all }), SystemOnNode::Shared { what }) => {
            all.extend(what);
            all.sort();
            all.dedup();
            SystemOnNode::Shared { what: all }
        }
        (Some(shared @ SystemOnNode::Shared { .. }), _) => shared,
        (Some(apart @ SystemOnNode::Apart), SystemOnNode::Unknown { .. }) => apart,
        (_, second) => second,
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::SystemOnNode;

    use super::{SystemPlaces, Wanted, merge_looks};

    fn sharing(what: &[&str]) -> SystemOnNode {
        SystemOnNode::Shared {
            what: what.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn unknown(why: &str) -> SystemOnNode {
        SystemOnNode::Unknown {
            why: why.to_owned(),
        }
    }

    #[test]
    fn nodes_are_shared_apart_or_unknown() {
        let parts = [
            ("shop/a", "n1"),
            ("shop/b", "n1"),
            ("its address 10.0.0.2", "n2"),
        ];
        let parts = parts.map(|(what, node)| (what.to_owned(), node.to_owned()));
        let mut places = SystemPlaces {
            found: parts.into(),
            unknown: vec!["a reason".to_owned()],
        };
        assert_eq!(places.look_on("n1"), sharing(&["shop/a", "shop/b"]));
        assert_eq!(places.look_on("n2"), sharing(&["its address 10.0.0.2"]));
        assert_eq!(places.look_on("n3"), SystemOnNode::Apart);
        places.found.clear();
        assert_eq!(places.look_on("n1"), unknown("a reason"));
        places.unknown.clear();
        let why = "the system has no address outside this machine";
        assert_eq!(places.look_on("n1"), unknown(why));
    }

    #[test]
    fn the_pods_of_the_run_are_not_looked_for() {
        let check = |hosts: &[&str], has_own_pods: bool, expected: bool| {
            let wanted = Wanted {
                hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
                has_own_pods,
            };
            assert_eq!(wanted.is_something(), expected, "{wanted:?}");
        };
        check(&[], true, false);
        // An external Kafka beside pods of the run.
        check(&["kafka.prod.svc"], true, true);
        check(&["shop.prod.svc"], false, true);
        // It may have the labels of apart_from.
        check(&[], false, true);
    }

    #[test]
    fn a_second_look_adds_to_the_first() {
        let check = |first, second, expected| assert_eq!(merge_looks(first, second), expected);
        check(None, SystemOnNode::Apart, SystemOnNode::Apart);
        check(Some(SystemOnNode::Apart), sharing(&["a"]), sharing(&["a"]));
        check(Some(sharing(&["a"])), SystemOnNode::Apart, sharing(&["a"]));
        check(
            Some(sharing(&["b"])),
            sharing(&["a", "b"]),
            sharing(&["a", "b"]),
        );
        check(
            Some(SystemOnNode::Apart),
            unknown("gone"),
            SystemOnNode::Apart,
        );
        check(Some(unknown("x")), SystemOnNode::Apart, SystemOnNode::Apart);
        check(Some(unknown("x")), unknown("y"), unknown("y"));
    }
}
