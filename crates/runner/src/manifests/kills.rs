//! Kills a pod of a component, and waits until as many are ready as before.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use waggle_cluster::PodStatus;
use waggle_study::Component;
use waggle_system::components::driver::Failure;

use super::{
    driver::ManifestDriver,
    objects::{SystemObject, to_await},
};

const KILL_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(300);

impl ManifestDriver {
    fn component(&self, name: &str) -> Option<&Component> {
        let mut components = self.parts.system.components.iter();
        components.find(|known| known.name == name)
    }

    /// Whether a component is reached by the addresses of its pods, of which a new one has another.
    fn is_reached_by_pods(&self, component: &str, pods: &[PodStatus]) -> bool {
        let mut places = self.up.addresses.iter();
        let is_of_pod = |address: &std::net::SocketAddr| {
            let address = address.ip().to_string();
            pods.iter()
                .any(|pod| pod.pod_ip.as_deref() == Some(&address))
        };
        places.any(|((known, _), addresses)| known == component && addresses.iter().any(is_of_pod))
    }

    pub(super) async fn kill_pod(&self, component: &str, replica: u32) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(why);
        let pods = self.to_watch().pods().await;
        let pods = pods.map_err(|why| failed(why.to_string()))?;
        if self.is_reached_by_pods(component, &pods) {
            return Err(failed(format!(
                "{component} is reached by the addresses of its pods, and the pod that replaces a killed one has another: give the \
                 component a service that has an address"
            )));
        }
        let ready = self.ready_pods(component, &pods);
        let Some(pod) = ready.get(replica as usize) else {
            return Err(failed(format!(
                "{component} has {} pods that are ready, and the one with number {replica} was to be killed",
                ready.len()
            )));
        };
        self.up.known.state().ended.insert(pod.uid.clone());
        let ended = (self.parts.access).end_pod(&self.parts.namespace, pod, KILL_TIMEOUT);
        ended.await.map_err(|why| failed(why.to_string()))
    }

    /// Waits until a component has as many pods that are ready as it had.
    pub(super) async fn wait_for_pods(
        &self,
        component: &str,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let wanted = self.up.wanted.get(component).copied().unwrap_or_default();
        loop {
            let pods = self.to_watch().pods().await.unwrap_or_default();
            let ready = self.ready_pods(component, &pods).len();
            if ready >= wanted {
                self.note_pods(&pods);
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.not_ready_again(component, ready, wanted).await);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn not_ready_again(&self, component: &str, ready: usize, wanted: usize) -> Failure {
        let workload = self
            .component(component)
            .and_then(|known| known.workload.as_ref());
        let objects = self.up.objects.iter().filter(|object| {
            let manifest = &object.manifest;
            workload.is_some_and(|known| manifest.is_named(&known.object.kind, &known.object.name))
        });
        let objects: Vec<SystemObject> = objects.cloned().collect();
        let mut why = format!("{ready} of {wanted} pods of {component} are ready again");
        if let Some(manifests) = self.manifests() {
            let awaited = to_await(&objects, manifests);
            let access = &self.parts.access;
            let looked = access.watch_workloads(self.scope(), &awaited, Instant::now());
            if let Err(reason) = looked.await {
                why = format!("{why}: {reason}");
            }
        }
        Failure::new(self.redact(&why))
    }
}
