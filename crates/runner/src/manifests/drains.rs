//! Drains the node of a pod: it is cordoned, the system's pods leave it, and are ready elsewhere.

use tokio::time::Instant;
use waggle_cluster::PodStatus;
use waggle_system::components::driver::Failure;

use super::driver::ManifestDriver;

impl ManifestDriver {
    /// Only pods of the system leave the node: those of others are none of ours. Returns the components that have moved.
    pub(super) async fn drain_node(
        &self,
        component: &str,
        replica: u32,
        deadline: Instant,
    ) -> Result<Vec<String>, Failure> {
        let pods = self.replaceable_pods(&[component.to_owned()]).await?;
        let pod = self.ready_pod(component, replica, &pods)?;
        let Some(node) = pod.node else {
            return Err(Failure::new(format!("pod {} has no node", pod.name)));
        };
        let is_leaving = |pod: &&PodStatus| {
            pod.node.as_ref() == Some(&node) && !pod.is_terminating && !pod.is_of_daemon_set
        };
        let leaving: Vec<PodStatus> = pods.iter().filter(is_leaving).cloned().collect();
        let components = self.components_of(&leaving);
        self.replaceable_pods(&components).await?;
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(format!("node {node} is not drained: {why}"))
        };
        let cordoned = self.ledger.lock().await.cordon(&node).await;
        cordoned.map_err(|why| failed(&why))?;
        self.to_watch().follow_logs(&leaving).await;
        for pod in &leaving {
            self.up.known.state().ended.insert(pod.uid.clone());
            let evicted = (self.parts.access).evict_pod(&self.parts.namespace, pod, deadline);
            evicted.await.map_err(|why| failed(&why))?;
        }
        for component in &components {
            let again = self.wait_for_pods(component, deadline).await;
            again.map_err(|why| failed(&why.reason))?;
        }
        Ok(components)
    }
}
