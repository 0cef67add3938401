//! The hosts that made the load of a run, as far as they are the same in another run of the same study.

use std::{collections::BTreeMap, fmt};

use waggle_results::AgentHostInfo;

/// Sorted, because agents get their numbers as they join; empty: the load was made on the runner's machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AgentHosts(Vec<AgentHost>);

/// One kernel or node, with its agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct AgentHost {
    /// `None`: its agents are pods, which have new names in each run.
    name: Option<String>,
    instance_type: Option<String>,
    /// Of each agent, sorted.
    hardware: Vec<String>,
}

impl AgentHosts {
    pub(crate) fn new(agents: &[AgentHostInfo]) -> Self {
        let mut agents_by_host: BTreeMap<String, Vec<&AgentHostInfo>> = BTreeMap::new();
        for agent in agents {
            agents_by_host.entry(place(agent)).or_default().push(agent);
        }
        let mut hosts: Vec<AgentHost> = agents_by_host.values().map(|on| host(on)).collect();
        hosts.sort_unstable();
        Self(hosts)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Without names, by which machines that are alike differ.
    pub(crate) fn hardware(&self) -> Self {
        let unnamed = self.0.iter().map(|host| AgentHost {
            name: None,
            ..host.clone()
        });
        let mut hosts: Vec<AgentHost> = unnamed.collect();
        hosts.sort_unstable();
        Self(hosts)
    }

    /// Those that have names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.0.iter().filter_map(|host| host.name.as_deref());
        names.collect()
    }
}

/// What is the same for all agents of one host.
fn place(agent: &AgentHostInfo) -> String {
    match &agent.pod {
        Some(pod) => format!("node {}", pod.node_name),
        None if agent.machine.is_empty() => format!("agent {}", agent.number),
        None => format!("machine {}", agent.machine),
    }
}

fn host(agents: &[&AgentHostInfo]) -> AgentHost {
    let mut hardware: Vec<String> = agents.iter().map(|agent| hardware(agent)).collect();
    hardware.sort_unstable();
    let node = agents.iter().find_map(|agent| {
        let pod = agent.pod.as_ref()?;
        pod.node.as_ref()
    });
    // Agents of one kernel have one name, unless they are in containers.
    let names = agents.iter().filter(|agent| agent.pod.is_none());
    AgentHost {
        name: names.map(|agent| agent.name.clone()).min(),
        instance_type: node.and_then(|node| node.instance_type.clone()),
        hardware,
    }
}

/// `2 × AMD EPYC`, with a quota that is no whole number.
fn hardware(agent: &AgentHostInfo) -> String {
    let quota = agent.cpu_quota.filter(|quota| quota.fract() != 0.0);
    let quota = quota.map_or_else(String::new, |quota| format!(" for {quota} CPUs of time"));
    format!("{} × {}{quota}", agent.cpus, agent.cpu_model)
}

/// `load-1 (2 × AMD EPYC)`, `3 nodes of c5.large (1 × Intel Xeon)`.
impl fmt::Display for AgentHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_alike =
            |first: &AgentHost, second: &AgentHost| first.name.is_none() && first == second;
        let alike = self.0.chunk_by(is_alike);
        for (index, hosts) in alike.enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            let host = &hosts[0];
            match (&host.name, hosts.len()) {
                (Some(name), _) => f.write_str(name)?,
                (None, 1) => f.write_str("a host")?,
                (None, count) => write!(f, "{count} hosts")?,
            }
            if let Some(instance_type) = &host.instance_type {
                write!(f, " of type {instance_type}")?;
            }
            write!(f, " ({})", host.hardware.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use waggle_results::{AgentHostInfo, NodeInfo, PodInfo};

    use super::AgentHosts;

    fn agent(number: u32, name: &str, machine: &str, cpus: u32) -> AgentHostInfo {
        AgentHostInfo {
            number,
            name: name.to_owned(),
            machine: machine.to_owned(),
            kernel: "6.8".to_owned(),
            architecture: "x86_64".to_owned(),
            cpu_model: "Xeon".to_owned(),
            cpus,
            cpu_quota: None,
            pod: None,
            is_same_program: true,
        }
    }

    fn pod(number: u32, name: &str, node: &str, instance_type: &str) -> AgentHostInfo {
        let facts = NodeInfo {
            kernel: "6.8".to_owned(),
            os_image: "Debian".to_owned(),
            kubelet: "v1.36.0".to_owned(),
            runtime: "containerd://2.2.0".to_owned(),
            architecture: "amd64".to_owned(),
            instance_type: (!instance_type.is_empty()).then(|| instance_type.to_owned()),
            region: None,
            zone: None,
            allocatable_cpus: 4.0,
            allocatable_memory_bytes: 8e9,
            other_pods: 3,
            other_cpus: 0.3,
            other_memory_bytes: 1e8,
        };
        let pod = PodInfo {
            pod: name.to_owned(),
            namespace: "load".to_owned(),
            node_name: node.to_owned(),
            image: "waggle:1".to_owned(),
            image_digest: None,
            qos_class: None,
            restarts: 0,
            node: Some(facts),
            unknown: None,
            system: None,
        };
        AgentHostInfo {
            pod: Some(pod),
            ..agent(number, name, "kernel", 1)
        }
    }

    #[track_caller]
    fn check_text(agents: &[AgentHostInfo], expected: &str) {
        assert_eq!(AgentHosts::new(agents).to_string(), expected);
    }

    #[test]
    fn hosts_are_told_by_what_lasts() {
        check_text(&[], "");
        check_text(&[agent(1, "load-1", "a", 2)], "load-1 (2 × Xeon)");
        let both = [agent(1, "load-2", "b", 4), agent(2, "load-1", "a", 2)];
        check_text(&both, "load-1 (2 × Xeon), load-2 (4 × Xeon)");
        let one_kernel = [agent(1, "load", "a", 2), agent(2, "load", "a", 1)];
        check_text(&one_kernel, "load (1 × Xeon, 2 × Xeon)");
        let unknown = [agent(1, "load", "", 2), agent(2, "load", "", 2)];
        check_text(&unknown, "load (2 × Xeon), load (2 × Xeon)");
        let quota = AgentHostInfo {
            cpu_quota: Some(1.5),
            ..agent(1, "load", "a", 2)
        };
        check_text(&[quota], "load (2 × Xeon for 1.5 CPUs of time)");
    }

    #[test]
    fn pods_are_told_by_their_nodes() {
        let pods = [
            pod(1, "x-0", "n1", "c5.large"),
            pod(2, "x-1", "n2", "c5.large"),
            pod(3, "x-2", "n2", ""),
        ];
        check_text(&pods[..2], "2 hosts of type c5.large (1 × Xeon)");
        check_text(
            &pods,
            "a host of type c5.large (1 × Xeon), a host of type c5.large (1 × Xeon, 1 × Xeon)",
        );
        check_text(&pods[2..], "a host (1 × Xeon)");
    }

    #[track_caller]
    fn check_same(first: &[AgentHostInfo], second: &[AgentHostInfo], expected: bool) {
        let same = AgentHosts::new(first) == AgentHosts::new(second);
        assert_eq!(same, expected);
    }

    #[test]
    fn numbers_and_names_of_pods_are_new_in_each_run() {
        let both = [agent(1, "load-2", "b", 4), agent(2, "load-1", "a", 2)];
        let other_order = [agent(1, "load-1", "a", 2), agent(2, "load-2", "b", 4)];
        check_same(&both, &other_order, true);
        // The digest of a boot id is another one after each start.
        check_same(
            &both,
            &[agent(1, "load-1", "c", 2), agent(2, "load-2", "d", 4)],
            true,
        );
        check_same(&both, &both[..1], false);
        check_same(
            &both,
            &[agent(1, "load-1", "a", 4), agent(2, "load-2", "b", 4)],
            false,
        );
        let pods = [pod(1, "x-0", "n1", "c5"), pod(2, "x-1", "n2", "c5")];
        check_same(
            &pods,
            &[pod(1, "y-0", "n3", "c5"), pod(2, "y-1", "n1", "c5")],
            true,
        );
        check_same(
            &pods,
            &[pod(1, "y-0", "n3", "c5"), pod(2, "y-1", "n1", "c6")],
            false,
        );
        // Both on one node.
        check_same(
            &pods,
            &[pod(1, "y-0", "n1", "c5"), pod(2, "y-1", "n1", "c5")],
            false,
        );
        check_same(&pods, &[], false);
    }
}
