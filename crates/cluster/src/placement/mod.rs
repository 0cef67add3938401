//! Where pods are, what their nodes are, and how much of a cluster is free.

mod capacity;
mod nodes;
mod quantity;
mod system_pods;

use crate::{access::Access, api::ApiError, pods::PodStatus};

pub use self::{
    capacity::{Capacity, Closed, NodeCapacity, PodSize, WantedNodes},
    nodes::{NodeFacts, Unknown},
    system_pods::{Behind, SystemPod},
};

/// Where a pod of a Job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPlace {
    pub pod: String,
    /// Its number in an Indexed Job.
    pub index: Option<u32>,
    pub node: Option<String>,
    pub pod_ip: Option<String>,
    pub host_ip: Option<String>,
    /// In UTC (RFC 3339).
    pub start_time: Option<String>,
    pub restarts: u32,
    /// As it was asked for.
    pub image: String,
    /// `sha256:…`, if the runtime says it.
    pub image_digest: Option<String>,
    /// `Guaranteed`, if requests and limits are the same.
    pub qos_class: Option<String>,
}

impl Access {
    /// Where the pods of a Job are.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn placement(&self, namespace: &str, job: &str) -> Result<Vec<PodPlace>, ApiError> {
        let pods = self.pod_statuses(namespace, job).await?;
        Ok(pods.into_iter().map(PodPlace::from).collect())
    }
}

impl From<PodStatus> for PodPlace {
    fn from(pod: PodStatus) -> Self {
        let container = pod.containers.first();
        let digest = container.and_then(|container| {
            let start = container.image_id.find("sha256:")?;
            Some(container.image_id[start..].to_owned())
        });
        Self {
            restarts: pod.restarts(),
            image: container
                .map(|container| container.image.clone())
                .unwrap_or_default(),
            image_digest: digest,
            pod: pod.name,
            index: pod.index,
            node: pod.node,
            pod_ip: pod.pod_ip,
            host_ip: pod.host_ip,
            start_time: pod.start_time,
            qos_class: pod.qos_class,
        }
    }
}
