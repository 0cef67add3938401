//! Beside a system that is up: its pods are watched for deaths, and kubelets are asked what they use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::sleep};
use waggle_cluster::{Access, ContainerState, ContainerStatus, PodStatus, PodUsage};
use waggle_results::ReplicaPod;
use waggle_system::components::driver::Death;

use super::leaving::Leaving;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Kubelets look every ten seconds or so.
pub(super) const USAGE_INTERVAL: Duration = Duration::from_secs(10);
/// Last lines of a container that has ended.
const LAST_LINES: usize = 20;

/// Which pods are watched.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) access: Access,
    pub(super) namespace: String,
    pub(super) run: String,
    pub(super) part: String,
    pub(super) known: Known,
    pub(super) leaving: Leaving,
}

/// What is known of pods, by all who look or act.
#[derive(Debug, Clone, Default)]
pub(super) struct Known(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// By UID.
    pub(super) pods: BTreeMap<String, KnownPod>,
    /// Where these pods are and those were that are gone, in the order in which they were ready.
    pub(super) places: Vec<ReplicaPod>,
    /// UIDs of pods that were ended on purpose.
    pub(super) ended: BTreeSet<String>,
    /// UIDs of pods that may be replaced at any moment: what ends them is an upgrade that is under way.
    pub(super) replaced: BTreeSet<String>,
    /// Of pods that are known to kubelets, by UID.
    pub(super) usage: BTreeMap<String, PodUsage>,
    /// Why that is not known.
    pub(super) no_usage: Option<String>,
    /// What containers of a replica wrote before it died.
    pub(super) last_lines: BTreeMap<String, Vec<String>>,
}

/// A pod that is ready, or was.
#[derive(Debug, Clone)]
pub(super) struct KnownPod {
    pub(super) name: String,
    /// `front-0`; its own name if it belongs to no component.
    pub(super) replica: String,
    pub(super) restarts: u32,
    pub(super) node: Option<String>,
}

impl Known {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves plain values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    pub(super) async fn pods(&self) -> Result<Vec<PodStatus>, waggle_cluster::ApiError> {
        self.access
            .system_pods(&self.namespace, &self.run, &self.part)
            .await
    }

    /// Keeps the logs of pods that end.
    pub(super) async fn follow_logs(&self, pods: &[PodStatus]) {
        let Self {
            access,
            namespace,
            leaving,
            ..
        } = self;
        leaving.follow(access, namespace, pods).await;
    }

    /// Tells deaths, as long as it is not dropped.
    pub(super) async fn watch_deaths(self, deaths: watch::Sender<Vec<Death>>) {
        loop {
            sleep(POLL_INTERVAL).await;
            // What is not known now is known by the next look.
            let Ok(pods) = self.pods().await else {
                continue;
            };
            for (pod, death) in self.deaths_among(&pods) {
                if let Some(pod) = pod {
                    self.follow_logs(std::slice::from_ref(&pod)).await;
                    let lines = self.last_lines(&pod).await;
                    let mut state = self.known.state();
                    state.last_lines.insert(death.replica.clone(), lines);
                }
                deaths.send_modify(|all| all.push(death));
            }
        }
    }

    /// The pods that died since the last look, each as it is now. They are known no longer, or with their restarts.
    fn deaths_among(&self, pods: &[PodStatus]) -> Vec<(Option<PodStatus>, Death)> {
        let mut state = self.known.state();
        let State {
            pods: known,
            ended,
            replaced,
            ..
        } = &mut *state;
        known.retain(|uid, _| !ended.contains(uid));
        let mut deaths = Vec::new();
        let mut gone = Vec::new();
        for (uid, known) in known.iter_mut() {
            let pod = pods.iter().find(|pod| pod.uid == *uid);
            let Some(how) = death(pod, known) else {
                continue;
            };
            if !replaced.contains(uid) {
                let replica = known.replica.clone();
                deaths.push((pod.cloned(), Death { replica, how }));
            }
            known.restarts = pod.map_or(0, PodStatus::restarts);
            if pod.is_none_or(|pod| pod.is_terminating || pod.phase != "Running") {
                gone.push(uid.clone());
            }
        }
        known.retain(|uid, _| !gone.contains(uid));
        deaths
    }

    async fn last_lines(&self, pod: &PodStatus) -> Vec<String> {
        let mut containers = pod.containers.iter();
        let Some(container) = containers
            .find(|container| exit(&container.state).is_some() || container.last_end.is_some())
        else {
            return Vec::new();
        };
        let previous = exit(&container.state).is_none();
        let log =
            (self.access).container_log(&self.namespace, &pod.name, &container.name, previous);
        let text = log.await.unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(LAST_LINES);
        lines[from..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }

    /// Asks kubelets what pods use, as long as it is not dropped; ends where that is not allowed.
    pub(super) async fn watch_usage(self) {
        loop {
            let nodes: BTreeSet<String> = {
                let state = self.known.state();
                state
                    .pods
                    .values()
                    .filter_map(|pod| pod.node.clone())
                    .collect()
            };
            for node in nodes {
                match self.access.pod_usage(&node).await {
                    Ok(usage) => {
                        let mut state = self.known.state();
                        for pod in usage {
                            state.usage.insert(pod.uid.clone(), pod);
                        }
                        state.no_usage = None;
                    }
                    Err(why) => {
                        self.known.state().no_usage = Some(why.to_string());
                        if matches!(why, waggle_cluster::ApiError::Forbidden { .. }) {
                            return;
                        }
                    }
                }
            }
            sleep(USAGE_INTERVAL).await;
        }
    }
}

/// How a pod died; `None`: it lives, or has ended well.
fn death(pod: Option<&PodStatus>, known: &KnownPod) -> Option<String> {
    let name = match &known.node {
        Some(node) => format!("{} on node {node}", known.name),
        None => known.name.clone(),
    };
    let Some(pod) = pod else {
        return Some(format!("because its pod {name} was deleted"));
    };
    if let Some(why) = &pod.disruption {
        return Some(format!("because its pod {name} is moved away ({why})"));
    }
    if pod.is_terminating {
        return Some(format!("because its pod {name} is being deleted"));
    }
    let of_container = pod.containers.iter().find_map(container_end);
    let of_container = of_container.map(|end| format!("{end} in pod {name}"));
    match pod.phase.as_str() {
        "Succeeded" => None,
        "Failed" => Some(of_container.unwrap_or_else(|| format!("because its pod {name} failed"))),
        _ if pod.restarts() > known.restarts => Some(
            of_container.unwrap_or_else(|| format!("because pod {name} restarted a container")),
        ),
        _ => None,
    }
}

/// `with exit code 137 (OOMKilled) of container shop`; `None`: it has not ended yet.
fn container_end(container: &ContainerStatus) -> Option<String> {
    let end = exit(&container.state).or_else(|| exit(container.last_end.as_ref()?))?;
    Some(format!("{end} of container {}", container.name))
}

/// `with exit code 137 (OOMKilled)`
fn exit(state: &ContainerState) -> Option<String> {
    let ContainerState::Ended { code, reason, .. } = state else {
        return None;
    };
    Some(match reason.as_str() {
        "" | "Error" | "Completed" => format!("with exit code {code}"),
        reason => format!("with exit code {code} ({reason})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_die_in_many_ways() {
        let known = KnownPod {
            name: "shop-a".to_owned(),
            replica: "shop-0".to_owned(),
            restarts: 1,
            node: None,
        };
        let running = || ContainerState::Running {
            since: String::new(),
        };
        let container = |restarts: u32| ContainerStatus {
            name: "shop".to_owned(),
            image: String::new(),
            image_id: String::new(),
            restarts,
            is_ready: true,
            state: running(),
            last_end: Some(ContainerState::Ended {
                code: 137,
                reason: "OOMKilled".to_owned(),
                message: String::new(),
            }),
        };
        let pod = |phase: &str, restarts: u32| PodStatus {
            phase: phase.to_owned(),
            containers: vec![container(restarts)],
            ..PodStatus::default()
        };
        let check = |pod: Option<PodStatus>, expected: Option<&str>| {
            assert_eq!(death(pod.as_ref(), &known).as_deref(), expected);
        };
        check(Some(pod("Running", 1)), None);
        check(Some(pod("Succeeded", 1)), None);
        let killed = "with exit code 137 (OOMKilled) of container shop in pod shop-a";
        check(Some(pod("Running", 2)), Some(killed));
        check(Some(pod("Failed", 1)), Some(killed));
        check(None, Some("because its pod shop-a was deleted"));
        let leaving = PodStatus {
            is_terminating: true,
            ..pod("Running", 1)
        };
        check(
            Some(leaving),
            Some("because its pod shop-a is being deleted"),
        );
        let known = KnownPod {
            node: Some("n1".to_owned()),
            ..known
        };
        let how = death(None, &known);
        let expected = "because its pod shop-a on node n1 was deleted";
        assert_eq!(how.as_deref(), Some(expected));
    }
}
