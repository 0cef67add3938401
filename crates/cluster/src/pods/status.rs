//! How a pod is, read from the API's answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    access::Access,
    api::{ApiError, Call, Kind, Verb},
    labels::{APP_LABEL, COMPONENT_LABEL, PART_LABEL, Pairs, RUN_LABEL, RUNNER_APP, selector},
};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
pub(crate) const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodStatus {
    pub name: String,
    pub uid: String,
    /// In UTC (RFC 3339).
    pub created: String,
    /// The run that made it; empty: waggle did not.
    pub run: String,
    /// Its number in an Indexed Job.
    pub index: Option<u32>,
    /// Of the system, whose replica it is; empty: of none that waggle made.
    pub component: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// Why the whole pod is as it is, such as `Evicted`.
    pub reason: Option<String>,
    pub message: Option<String>,
    pub node: Option<String>,
    pub pod_ip: Option<String>,
    pub host_ip: Option<String>,
    /// When the kubelet took it, in UTC (RFC 3339).
    pub start_time: Option<String>,
    pub qos_class: Option<String>,
    /// It is being deleted.
    pub is_terminating: bool,
    /// A `DaemonSet` has made it, which makes it again on the same node.
    pub is_of_daemon_set: bool,
    /// Why no node takes it, in the scheduler's words.
    pub unschedulable: Option<String>,
    /// That it was or is to be moved away, in the words of who does that.
    pub disruption: Option<String>,
    pub containers: Vec<ContainerStatus>,
    /// Those that end before the others start.
    pub init_containers: Vec<ContainerStatus>,
    /// Services send to it.
    pub is_ready: bool,
    pub labels: Pairs,
    /// Those of its containers that have a name, or a number alone.
    pub ports: Vec<PodPort>,
}

/// A port of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPort {
    /// Empty: it has none.
    pub name: String,
    pub number: u16,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerStatus {
    pub name: String,
    /// As it was asked for.
    pub image: String,
    /// With its digest, if the runtime says it.
    pub image_id: String,
    pub restarts: u32,
    pub is_ready: bool,
    pub state: ContainerState,
    /// How it ended before it was started again; `None`: it was not.
    pub last_end: Option<ContainerState>,
}

/// The state of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerState {
    Waiting {
        reason: String,
        message: String,
    },
    /// Since an instant in UTC (RFC 3339).
    Running {
        since: String,
    },
    Ended {
        code: i32,
        /// Such as `OOMKilled`, `Error`, `StartError`.
        reason: String,
        /// What it wrote at last, or why it could not be started.
        message: String,
    },
}

impl Access {
    /// The pods of a Job, by their names.
    ///
    /// # Errors
    /// They may not be listed, or the API does not answer.
    pub async fn pod_statuses(
        &self,
        namespace: &str,
        job: &str,
    ) -> Result<Vec<PodStatus>, ApiError> {
        let mut pods = self.pods(namespace, format!("{JOB_NAME}={job}")).await?;
        pods.sort_by(|a, b| (a.index, &a.name).cmp(&(b.index, &b.name)));
        Ok(pods)
    }

    /// The pods of runners in a namespace, the oldest first.
    ///
    /// # Errors
    /// As [`Access::pod_statuses`].
    pub async fn runner_pods(&self, namespace: &str) -> Result<Vec<PodStatus>, ApiError> {
        let selector = format!("{APP_LABEL}={RUNNER_APP}");
        let mut pods = self.pods(namespace, selector).await?;
        pods.sort_by(|a, b| (&a.created, &a.name).cmp(&(&b.created, &b.name)));
        Ok(pods)
    }

    /// The pods with these labels, by their names.
    ///
    /// # Errors
    /// As [`Access::pod_statuses`].
    pub async fn labelled_pods(
        &self,
        namespace: &str,
        labels: &Pairs,
    ) -> Result<Vec<PodStatus>, ApiError> {
        let mut pods = self.pods(namespace, selector(labels)).await?;
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(pods)
    }

    /// The pods of a system's manifests, by their names.
    ///
    /// # Errors
    /// As [`Access::pod_statuses`].
    pub async fn system_pods(
        &self,
        namespace: &str,
        run: &str,
        part: &str,
    ) -> Result<Vec<PodStatus>, ApiError> {
        let selector = format!("{RUN_LABEL}={run},{PART_LABEL}={part}");
        let mut pods = self.pods(namespace, selector).await?;
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(pods)
    }

    async fn pods(&self, namespace: &str, selector: String) -> Result<Vec<PodStatus>, ApiError> {
        let call = Call::new(Verb::List, Kind::Pod, Some(namespace));
        let call = call.option("labelSelector", selector);
        let what = call.target();
        let mut list = self.call(call).await?.value;
        let unreadable = |why: serde_json::Error| ApiError::Unreadable {
            what,
            why: why.to_string(),
        };
        let items = list["items"].take();
        let pods: Option<Vec<RawPod>> = serde_json::from_value(items).map_err(unreadable)?;
        Ok(pods.into_iter().flatten().map(PodStatus::from).collect())
    }
}

impl PodStatus {
    /// All its containers run, or it has ended well.
    #[must_use]
    pub fn has_started(&self) -> bool {
        let runs =
            |container: &ContainerStatus| matches!(container.state, ContainerState::Running { .. });
        let all_run = !self.containers.is_empty() && self.containers.iter().all(runs);
        self.phase == "Succeeded" || (self.phase == "Running" && all_run)
    }

    /// Of all its containers.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.containers
            .iter()
            .map(|container| container.restarts)
            .sum()
    }
}

#[derive(Deserialize)]
struct RawPod {
    metadata: RawMetadata,
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMetadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    creation_timestamp: String,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<RawOwner>,
}

#[derive(Deserialize)]
struct RawOwner {
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct RawSpec {
    node_name: Option<String>,
    #[serde(default)]
    containers: Vec<RawSpecContainer>,
}

#[derive(Deserialize)]
struct RawSpecContainer {
    #[serde(default)]
    ports: Vec<RawPort>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPort {
    #[serde(default)]
    name: String,
    container_port: u16,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    phase: String,
    reason: Option<String>,
    message: Option<String>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    #[serde(rename = "hostIP")]
    host_ip: Option<String>,
    start_time: Option<String>,
    qos_class: Option<String>,
    conditions: Vec<RawCondition>,
    container_statuses: Vec<RawContainer>,
    init_container_statuses: Vec<RawContainer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer {
    name: String,
    image: String,
    #[serde(rename = "imageID")]
    image_id: String,
    restart_count: u32,
    ready: bool,
    state: Value,
    last_state: Value,
}

impl From<RawPod> for PodStatus {
    fn from(raw: RawPod) -> Self {
        let RawPod {
            metadata,
            spec,
            status,
        } = raw;
        let index = metadata.annotations.get(INDEX);
        let index = index.or_else(|| metadata.labels.get(INDEX));
        let condition = |kind: &str, value: &str| {
            let mut all = status.conditions.iter();
            all.find(|condition| condition.kind == kind && condition.status == value)
        };
        let unschedulable = condition("PodScheduled", "False")
            .filter(|condition| condition.reason == "Unschedulable")
            .map(|condition| condition.message.clone());
        let disruption = condition("DisruptionTarget", "True")
            .map(|condition| format!("{}: {}", condition.reason, condition.message));
        Self {
            index: index.and_then(|text| text.parse().ok()),
            name: metadata.name,
            uid: metadata.uid,
            created: metadata.creation_timestamp,
            run: metadata.labels.get(RUN_LABEL).cloned().unwrap_or_default(),
            component: metadata
                .labels
                .get(COMPONENT_LABEL)
                .cloned()
                .unwrap_or_default(),
            is_ready: condition("Ready", "True").is_some(),
            labels: metadata.labels.clone(),
            ports: spec
                .containers
                .into_iter()
                .flat_map(|container| container.ports)
                .map(|port| PodPort {
                    name: port.name,
                    number: port.container_port,
                })
                .collect(),
            unschedulable,
            disruption,
            phase: status.phase,
            reason: status.reason,
            message: status.message,
            node: spec.node_name,
            pod_ip: status.pod_ip,
            host_ip: status.host_ip,
            start_time: status.start_time,
            qos_class: status.qos_class,
            is_terminating: metadata.deletion_timestamp.is_some(),
            is_of_daemon_set: {
                let mut owners = metadata.owner_references.iter();
                owners.any(|owner| owner.kind == "DaemonSet")
            },
            containers: statuses(status.container_statuses),
            init_containers: statuses(status.init_container_statuses),
        }
    }
}

fn statuses(raw: Vec<RawContainer>) -> Vec<ContainerStatus> {
    raw.into_iter().map(ContainerStatus::from).collect()
}

impl From<RawContainer> for ContainerStatus {
    fn from(raw: RawContainer) -> Self {
        let last_end = raw.last_state.get("terminated").is_some();
        Self {
            last_end: last_end.then(|| state(&raw.last_state)),
            state: state(&raw.state),
            name: raw.name,
            image: raw.image,
            image_id: raw.image_id,
            restarts: raw.restart_count,
            is_ready: raw.ready,
        }
    }
}

fn state(raw: &Value) -> ContainerState {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(running) = raw.get("running") {
        return ContainerState::Running {
            since: text(&running["startedAt"]),
        };
    }
    if let Some(ended) = raw.get("terminated") {
        let code = ended["exitCode"].as_i64().unwrap_or_default();
        return ContainerState::Ended {
            code: i32::try_from(code).unwrap_or(i32::MAX),
            reason: text(&ended["reason"]),
            message: text(&ended["message"]),
        };
    }
    let waiting = &raw["waiting"];
    ContainerState::Waiting {
        reason: text(&waiting["reason"]),
        message: text(&waiting["message"]),
    }
}
