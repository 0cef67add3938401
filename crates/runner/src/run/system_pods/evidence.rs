//! What is kept of the pods of a system, beside the logs of its replicas: where they were, their images, events, and what containers
//! wrote that have ended.

use std::{collections::BTreeMap, fmt::Write, io, path::Path, time::Duration};

use tokio::time::timeout;
use waggle_cluster::{Access, PodStatus};
use waggle_results::private_file;

use crate::run::agents::kubernetes::event_line;

/// Of one log: a node that is dead does not answer.
const LOG_AT_MOST: Duration = Duration::from_secs(8);

/// Why it is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvidenceError {
    #[error(transparent)]
    Api(#[from] waggle_cluster::ApiError),
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Writes `pods.txt`, `pod-events.txt` and the logs of containers that have ended.
pub(super) async fn write(
    access: &Access,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    logs: &Path,
) -> Result<(), EvidenceError> {
    private_file::create_folder(logs)?;
    let pods = access.labelled_pods(namespace, labels).await?;
    let mut text = String::new();
    for pod in &pods {
        write_pod(&mut text, pod);
    }
    private_file::write_file(&logs.join("pods.txt"), text)?;
    for pod in &pods {
        for is_previous in [false, true] {
            // The process of a container that runs says nothing: its replica has a log of its own.
            if is_previous && pod.restarts() == 0 {
                continue;
            }
            let log = access.logs(namespace, &pod.name, is_previous);
            let Ok(Ok(log)) = timeout(LOG_AT_MOST, log).await else {
                continue;
            };
            if log.trim().is_empty() {
                continue;
            }
            let kind = if is_previous { "previous" } else { "container" };
            private_file::write_file(&logs.join(format!("{}.{kind}.log", pod.name)), log)?;
        }
    }
    let events = access.events(namespace).await?;
    let is_of_pods = |name: &str| {
        pods.iter()
            .any(|pod| name == pod.name || pod.name.starts_with(&format!("{name}-")))
    };
    let events = events.iter().filter(|event| is_of_pods(&event.name));
    let lines: String = events.map(event_line).collect();
    private_file::write_file(&logs.join("pod-events.txt"), lines)?;
    Ok(())
}

fn write_pod(text: &mut String, pod: &PodStatus) {
    let PodStatus {
        name,
        node,
        pod_ip,
        qos_class,
        start_time,
        ..
    } = pod;
    let or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    writeln!(
        text,
        "{name}: node {}, address {}, started {}, {}, restarts {}",
        or_unknown(node),
        or_unknown(pod_ip),
        or_unknown(start_time),
        or_unknown(qos_class),
        pod.restarts()
    )
    .ok();
    for container in &pod.containers {
        writeln!(text, "  {} {}", container.image, container.image_id).ok();
    }
}
