//! CPU and memory of pods, by the summary of their node's kubelet, which looks every ten seconds or so.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
};

/// What a pod has used so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodUsage {
    pub uid: String,
    pub cpu: Duration,
    pub rss_bytes: u64,
    /// When the kubelet looked, by the clock of its node.
    pub time: Timestamp,
}

impl Access {
    /// Of all pods of a node of which it is known. Needs the right to reach kubelets (`nodes/proxy`).
    ///
    /// # Errors
    /// It may not be read, or the kubelet does not answer.
    pub async fn pod_usage(&self, node: &str) -> Result<Vec<PodUsage>, ApiError> {
        let call = Call::new(Verb::Get, Kind::Node, None).name(node);
        let summary = self.call(call.part("proxy/stats/summary")).await?.value;
        let pods = summary["pods"].as_array().into_iter().flatten();
        Ok(pods.filter_map(pod_usage).collect())
    }
}

/// `None`: no container has the number.
fn sum_of<'a>(containers: impl Iterator<Item = &'a Value>, pointer: &str) -> Option<u64> {
    let values = containers.filter_map(|container| container.pointer(pointer)?.as_u64());
    let values: Vec<u64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

fn pod_usage(pod: &Value) -> Option<PodUsage> {
    let uid = pod["podRef"]["uid"].as_str()?.to_owned();
    let containers = || pod["containers"].as_array().into_iter().flatten();
    let sum = |pointer: &str| sum_of(containers(), pointer);
    // That of the whole pod has what its pause container uses, too; it is not there on all runtimes.
    let whole = |pointer: &str| pod.pointer(pointer).and_then(Value::as_u64);
    let cpu = whole("/cpu/usageCoreNanoSeconds").or_else(|| sum("/cpu/usageCoreNanoSeconds"))?;
    let rss = whole("/memory/rssBytes").or_else(|| sum("/memory/rssBytes"));
    let set = whole("/memory/workingSetBytes").or_else(|| sum("/memory/workingSetBytes"));
    let times = containers().map(|container| &container["cpu"]["time"]);
    let mut times = std::iter::once(&pod["cpu"]["time"]).chain(times);
    let time = times.find_map(|time| time.as_str()?.parse().ok())?;
    Some(PodUsage {
        uid,
        cpu: Duration::from_nanos(cpu),
        rss_bytes: rss.or(set).unwrap_or_default(),
        time,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_has_used_what_its_containers_have() {
        let container = |cpu: u64, rss: u64| {
            json!({
                "cpu": { "time": "2026-11-29T10:00:00Z", "usageCoreNanoSeconds": cpu },
                "memory": { "rssBytes": rss },
            })
        };
        let pod = json!({
            "podRef": { "uid": "u" },
            "containers": [container(1_000_000_000, 5), container(500_000_000, 2)],
        });
        let expected = PodUsage {
            uid: "u".into(),
            cpu: Duration::from_millis(1500),
            rss_bytes: 7,
            time: "2026-11-29T10:00:00Z".parse().unwrap(),
        };
        assert_eq!(pod_usage(&pod), Some(expected.clone()));
        let mut pod = pod;
        pod["cpu"] =
            json!({ "time": "2026-11-29T10:00:05Z", "usageCoreNanoSeconds": 2_000_000_000_u64 });
        let whole = pod_usage(&pod).unwrap();
        assert_eq!((whole.cpu, whole.rss_bytes), (Duration::from_secs(2), 7));
        assert_eq!(whole.time, "2026-11-29T10:00:05Z".parse().unwrap());
        assert_eq!(pod_usage(&json!({ "podRef": { "uid": "u" } })), None);
    }
}
