//! Ends single pods, as a fault or with the claims of volumes that they leave.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    pods::PodStatus,
};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Why a pod is not gone.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("pod {pod} is still there after {} s", after.as_secs())]
    StillThere { pod: String, after: Duration },
}

impl Access {
    /// Deletes a pod without grace, and returns when it is gone: the API forgets it at once, and its kubelet ends it.
    ///
    /// # Errors
    /// It may not be deleted, or is still there after the limit.
    pub async fn end_pod(
        &self,
        namespace: &str,
        pod: &PodStatus,
        limit: Duration,
    ) -> Result<(), EndError> {
        let begun = Instant::now();
        loop {
            let call = Call::new(Verb::Delete, Kind::Pod, Some(namespace))
                .name(&pod.name)
                .body(json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "gracePeriodSeconds": 0,
                    "preconditions": { "uid": pod.uid },
                }));
            match self.call(call).await {
                // It is gone, or another pod has its name.
                Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) => return Ok(()),
                answer => drop(answer?),
            }
            if begun.elapsed() > limit {
                return Err(EndError::StillThere {
                    pod: pod.name.clone(),
                    after: limit,
                });
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}
