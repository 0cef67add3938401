//! The pods of a system that is up: those of each component, which of them serve, and which are watched.

use std::collections::BTreeMap;

use waggle_cluster::{PodPlace, PodStatus};
use waggle_results::ReplicaPod;

use super::{driver::ManifestDriver, watch::KnownPod};
use crate::run::pod_places::pod_info;

impl ManifestDriver {
    /// Notes how many pods each component has.
    pub(super) fn note_wanted(&self, pods: &[PodStatus]) {
        let components = self.up.system.iter().flat_map(|system| &system.components);
        let wanted = components.map(|component| {
            let count = self.ready_pods(&component.name, pods).len();
            (component.name.clone(), count)
        });
        *self.up.wanted.borrow_mut() = wanted.collect();
    }

    /// The components that have one of these pods.
    pub(super) fn components_of(&self, pods: &[PodStatus]) -> Vec<String> {
        let has_pod =
            |selector: &BTreeMap<String, String>| pods.iter().any(|pod| has_labels(pod, selector));
        let selectors = self.up.selectors.iter();
        let chosen = selectors.filter(|(_, selector)| has_pod(selector));
        chosen.map(|(component, _)| component.clone()).collect()
    }

    /// The pods of a component that are ready and not being ended, by their names.
    pub(super) fn ready_pods(&self, component: &str, pods: &[PodStatus]) -> Vec<PodStatus> {
        let Some(selector) = self.up.selectors.get(component) else {
            return Vec::new();
        };
        let state = self.up.known.state();
        let serving = pods.iter().filter(|pod| serves(pod, selector));
        let serving = serving.filter(|pod| !state.ended.contains(&pod.uid));
        serving.cloned().collect()
    }

    /// Watches these pods from now on. Replicas have the numbers of their names in order.
    pub(super) fn note_pods(&self, pods: &[PodStatus]) {
        let mut replicas = BTreeMap::new();
        for component in self.up.selectors.keys() {
            for (number, pod) in self.ready_pods(component, pods).iter().enumerate() {
                replicas.insert(pod.uid.clone(), format!("{component}-{number}"));
            }
        }
        let mut state = self.up.known.state();
        let living = pods
            .iter()
            .filter(|pod| !pod.is_terminating && pod.phase == "Running");
        let living: Vec<&PodStatus> = living.collect();
        for pod in living {
            if state.ended.contains(&pod.uid) {
                continue;
            }
            let replica = replicas.get(&pod.uid).cloned();
            let known = KnownPod {
                name: pod.name.clone(),
                replica: replica.unwrap_or_else(|| pod.name.clone()),
                restarts: pod.restarts(),
                node: pod.node.clone(),
            };
            if !state.pods.contains_key(&pod.uid) {
                let place = PodPlace::from(pod.clone());
                let place = pod_info(place, &self.parts.namespace, &self.up.nodes);
                let replica = known.replica.clone();
                state
                    .places
                    .extend(place.map(|pod| ReplicaPod { replica, pod }));
            }
            state.pods.insert(pod.uid.clone(), known);
        }
    }
}

/// Whether a pod with these labels is ready, and not being ended.
fn serves(pod: &PodStatus, selector: &BTreeMap<String, String>) -> bool {
    has_labels(pod, selector) && pod.is_ready && !pod.is_terminating
}

/// Whether a selector, which is not empty, selects a pod.
pub(super) fn has_labels(pod: &PodStatus, selector: &BTreeMap<String, String>) -> bool {
    let mut labels = selector.iter();
    !selector.is_empty() && labels.all(|(name, value)| pod.labels.get(name) == Some(value))
}
