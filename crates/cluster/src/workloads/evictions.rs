//! Evicts single pods, as `kubectl drain` does: disruption budgets hold, and pods have their grace.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    pods::PodStatus,
};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// The API's answer while a disruption budget does not allow it.
const TOO_MANY_REQUESTS: u16 = 429;

/// Why a pod is not gone.
#[derive(Debug, thiserror::Error)]
pub enum EvictionError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("pod {pod} may not be evicted after {} s: {why}", after.as_secs())]
    NotAllowed {
        pod: String,
        why: String,
        after: Duration,
    },
    #[error("pod {pod} was evicted, and is still there after {} s", after.as_secs())]
    StillThere { pod: String, after: Duration },
}

impl Access {
    /// Evicts a pod as soon as its disruption budgets allow it, and returns when it is gone.
    ///
    /// # Errors
    /// It may not be evicted, or is still there at the deadline.
    pub async fn evict_pod(
        &self,
        namespace: &str,
        pod: &PodStatus,
        deadline: Instant,
    ) -> Result<(), EvictionError> {
        let begun = Instant::now();
        loop {
            let call = Call::new(Verb::Create, Kind::Pod, Some(namespace))
                .name(&pod.name)
                .part("eviction")
                .single_attempt()
                .body(json!({
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": { "name": pod.name, "namespace": namespace },
                    "deleteOptions": { "preconditions": { "uid": pod.uid } },
                }));
            // A pod that is being deleted is evicted again: that tells when it is gone.
            let refusal = match self.call(call).await {
                Ok(_) => None,
                // It is gone, or another pod has its name.
                Err(ApiError::NotFound { .. } | ApiError::Conflict { .. }) => return Ok(()),
                Err(ApiError::Refused { code, message, .. }) if is_temporary(code) => Some(message),
                Err(why @ ApiError::Unreachable { .. }) => Some(why.to_string()),
                Err(why) => return Err(why.into()),
            };
            if Instant::now() >= deadline {
                let (pod, after) = (pod.name.clone(), begun.elapsed());
                return Err(match refusal {
                    Some(why) => EvictionError::NotAllowed { pod, why, after },
                    None => EvictionError::StillThere { pod, after },
                });
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

fn is_temporary(code: u16) -> bool {
    code == TOO_MANY_REQUESTS || code >= 500
}
