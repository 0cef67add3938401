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
    pub(super) fn component(&self, name: &str) -> Option<&Component> {
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

    /// The pods of the system, if those of these components may be replaced by others.
    pub(super) async fn replaceable_pods(
        &self,
        components: &[String],
    ) -> Result<Vec<PodStatus>, Failure> {
        let pods = self.to_watch().pods().await;
        let pods = pods.map_err(|why| Failure::new(why.to_string()))?;
        let mut reached = components.iter();
        if let Some(component) = reached.find(|name| self.is_reached_by_pods(name, &pods)) {
            return Err(Failure::new(format!(
                "{component} is reached by the addresses of its pods, and the pod that takes the place of one has another: give the \
                 component a service that has an address"
            )));
        }
        Ok(pods)
    }

    /// A pod of a component by its number among those that are ready.
    pub(super) fn ready_pod(
        &self,
        component: &str,
        replica: u32,
        pods: &[PodStatus],
    ) -> Result<PodStatus, Failure> {
        let ready = self.ready_pods(component, pods);
        ready.get(replica as usize).cloned().ok_or_else(|| {
            Failure::new(format!(
                "{component} has {} pods that are ready, and there is none with number {replica}",
                ready.len()
            ))
        })
    }

    pub(super) async fn kill_pod(&self, component: &str, replica: u32) -> Result<(), Failure> {
        let pods = self.replaceable_pods(&[component.to_owned()]).await?;
        let pod = self.ready_pod(component, replica, &pods)?;
        self.to_watch()
            .follow_logs(std::slice::from_ref(&pod))
            .await;
        self.up.known.state().ended.insert(pod.uid.clone());
        let ended = (self.parts.access).end_pod(&self.parts.namespace, &pod, KILL_TIMEOUT);
        ended.await.map_err(|why| Failure::new(why.to_string()))
    }

    /// Waits until a component has as many pods that are ready as it had.
    pub(super) async fn wait_for_pods(
        &self,
        component: &str,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let wanted = self.up.wanted.borrow().get(component).copied();
        let wanted = wanted.unwrap_or_default();
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
        let objects: Vec<SystemObject> = {
            let objects = self.up.objects.borrow();
            let of_component = objects.iter().filter(|object| {
                let manifest = &object.manifest;
                workload
                    .is_some_and(|known| manifest.is_named(&known.object.kind, &known.object.name))
            });
            of_component.cloned().collect()
        };
        let mut why = format!("{ready} of {wanted} pods of {component} are ready again");
        if let Some(manifests) = self.manifests() {
            let awaited = to_await(objects.iter(), manifests);
            let access = &self.parts.access;
            let looked = access.watch_workloads(self.scope(), &awaited, Instant::now());
            if let Err(reason) = looked.await {
                why = format!("{why}: {reason}");
            }
        }
        Failure::new(self.redact(&why))
    }
}
