//! What a cluster has for the agents of a study, for its plan: nothing is made and nothing started.

use std::{path::Path, time::Duration};

use tokio::time::timeout;
use waggle_cluster::{Access, AccessError, Capacity, PodSize, Unknown, WantedNodes};
use waggle_spec::AgentPods;

use super::kubernetes::{kubeconfig, pod_shape, service_host, spread};

/// What a cluster has for agents, as far as it is known.
#[derive(Debug)]
pub struct AgentRoom {
    /// Its URL.
    pub server: String,
    pub namespace: String,
    pub capacity: Capacity,
    pub size: PodSize,
    /// Agents that fit, each of that size.
    pub fitting: u32,
}

/// Why it is not known.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{server}: {}", why.0)]
    Unknown { server: String, why: Unknown },
    #[error("the cluster did not answer within {}", waggle_units::format_duration(*.0))]
    Timeout(Duration),
}

/// Asks the cluster; `study_file`: beside which its kubeconfig is.
///
/// # Errors
/// There is none, it may not be asked, or it does not answer in time.
pub async fn agent_room(
    pods: &AgentPods,
    study_file: &Path,
    limit: Duration,
) -> Result<AgentRoom, RoomError> {
    let asking = timeout(limit, ask(pods, study_file)).await;
    asking.unwrap_or(Err(RoomError::Timeout(limit)))
}

async fn ask(pods: &AgentPods, study_file: &Path) -> Result<AgentRoom, RoomError> {
    let access = match (&pods.place.kubeconfig, &pods.place.context) {
        (None, None) if service_host().is_some() => Access::in_cluster().await?,
        (_, context) => {
            let file = kubeconfig(&pods.place, study_file);
            Access::load_without_program(file.as_deref(), context.as_deref()).await?
        }
    };
    let origin = &access.origin;
    let namespace = pods.place.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| origin.namespace.clone());
    let apart_from_namespaces = match pods.apart_from_namespaces.is_empty() {
        true => vec![namespace.clone()],
        false => pods.apart_from_namespaces.clone(),
    };
    let shape = pod_shape(&pods.pod);
    let wanted = WantedNodes {
        node_selector: shape.node_selector,
        tolerations: shape.tolerations,
        apart_from: pods.apart_from.clone(),
        apart_from_namespaces,
    };
    let server = origin.server.clone();
    let capacity = access.capacity(&wanted).await;
    let capacity = capacity.map_err(|why| RoomError::Unknown {
        server: server.clone(),
        why,
    })?;
    let size = PodSize {
        cpus: pods.pod.cpus,
        memory_bytes: pods.pod.memory_bytes,
    };
    Ok(AgentRoom {
        fitting: capacity.room_for(size, spread(pods.spread)),
        server,
        namespace,
        capacity,
        size,
    })
}
