//! The agents of a trial, as they are judged.

use waggle_results::{AgentInfo, PodInfo, RunInfo, SystemOnNode, TrialInfo};
use waggle_stats::{Agent, NthAgent};

/// The agents that made the load, as they are judged.
pub(crate) fn agents(info: &TrialInfo, run: &RunInfo) -> Vec<Agent> {
    let agents = info.agents.iter();
    agents.map(|agent| agent_facts(agent, info, run)).collect()
}

fn agent_facts(agent: &AgentInfo, info: &TrialInfo, run: &RunInfo) -> Agent {
    let mut hosts = run.agents.iter();
    let host = hosts.find(|host| host.number == agent.number);
    let pod = host.and_then(|host| host.pod.as_ref());
    Agent {
        beside: pod.map_or_else(Vec::new, |pod| shared_parts(pod, info)),
        nth: NthAgent {
            number: agent.number,
            of: u32::try_from(info.agents.len()).unwrap_or(u32::MAX),
            name: agent.name.clone(),
        },
        throttled: (agent.throttled).map(|info| (info.throttled, info.periods)),
        clock_error_us: agent.clock_error_ms * 1e3,
        drift_ppm: agent.drift_ppm,
        drift_bound_ppm: agent.drift_bound_ppm,
    }
}

/// What of the system was on the node of an agent in a trial, `NAMESPACE/POD` or an address: pods of the trial, and what else was found.
fn shared_parts(agent: &PodInfo, info: &TrialInfo) -> Vec<String> {
    let pods = info.pods.iter().map(|entry| &entry.pod);
    let here = pods.filter(|pod| pod.node_name == agent.node_name);
    let names = here.map(|pod| format!("{}/{}", pod.namespace, pod.pod));
    let others = match &agent.system {
        Some(SystemOnNode::Shared { what }) => what.clone(),
        _ => Vec::new(),
    };
    let mut all: Vec<String> = names.chain(others).collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use waggle_results::{PodInfo, ReplicaPod, SystemOnNode, TrialInfo, TrialKey};

    use super::shared_parts;

    fn pod(name: &str, node: &str) -> PodInfo {
        PodInfo {
            pod: name.to_owned(),
            namespace: "load".to_owned(),
            node_name: node.to_owned(),
            image: "shop:1".to_owned(),
            image_digest: None,
            qos_class: None,
            restarts: 0,
            node: None,
            unknown: None,
            system: None,
        }
    }

    #[test]
    fn an_agent_is_beside_the_pods_of_its_trial() {
        let key = TrialKey {
            cell: 1,
            repetition: 1,
        };
        let mut info = TrialInfo::new(key, 1, String::new());
        let check = |info: &TrialInfo, system: Option<SystemOnNode>, expected: &[&str]| {
            let agent = PodInfo {
                system,
                ..pod("agents-0", "n1")
            };
            assert_eq!(shared_parts(&agent, info), expected);
        };
        let shared = |what: &str| {
            let what = vec![what.to_owned()];
            Some(SystemOnNode::Shared { what })
        };
        let unknown = || {
            let why = "the system has no address outside this machine".to_owned();
            Some(SystemOnNode::Unknown { why })
        };
        check(&info, unknown(), &[]);
        check(&info, shared("shop/shop-0"), &["shop/shop-0"]);
        // Pods of a StatefulSet that were replaced have the same name.
        let places = [("gateway-0", "n1"), ("gateway-0", "n1"), ("kafka-0", "n2")];
        info.pods = places
            .map(|(name, node)| ReplicaPod {
                replica: name.to_owned(),
                pod: pod(name, node),
            })
            .to_vec();
        check(&info, None, &["load/gateway-0"]);
        check(&info, unknown(), &["load/gateway-0"]);
        check(&info, Some(SystemOnNode::Apart), &["load/gateway-0"]);
        let both = ["its address 10.0.0.2", "load/gateway-0"];
        check(&info, shared("its address 10.0.0.2"), &both);
        check(&info, shared("load/gateway-0"), &["load/gateway-0"]);
    }
}
