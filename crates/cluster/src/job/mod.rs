//! Manifests of pods: agents as an Indexed Job, the runner as a Job of one pod, and the replicas of a component as a StatefulSet. Pure:
//! plain values in, JSON out.

mod pod;
mod replicas;

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

pub use self::{
    pod::{MountedSecret, PodShape, PullPolicy, Resources, Toleration},
    replicas::ReplicaSet,
};
use crate::labels::{APP_LABEL, Pairs, RUNNER_APP};

pub(crate) const AGENT_APP: &str = "waggle-agent";
/// By which Kubernetes tells nodes apart.
const HOST: &str = "kubernetes.io/hostname";

/// How agents are spread over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// No two on one node; those without a node wait.
    OneOnEach,
    /// As many on each node, give or take one.
    #[default]
    Even,
    /// As even as it goes: a node that is full does not keep the others from starting.
    Preferred,
}

/// Agents: pods that are numbered from 0, start together, and of which none is started again.
#[derive(Debug, Clone)]
pub struct IndexedJob {
    /// Of the Job; its pods have it before their numbers.
    pub name: String,
    pub pod: PodShape,
    pub count: u32,
    /// Labels of the pods that must not be on a node with an agent: the system. Empty: they may share nodes.
    pub apart_from: BTreeMap<String, String>,
    /// Namespaces of those pods; empty: that of the Job.
    pub apart_from_namespaces: Vec<String>,
    pub spread: Spread,
    /// The Job fails after this time, whatever its pods do.
    pub deadline: Duration,
    /// Kubernetes deletes it so long after its end, if waggle does not.
    pub kept: Duration,
}

/// The runner: one pod, which may use the API by its service account.
#[derive(Debug, Clone)]
pub struct RunnerJob {
    pub name: String,
    pub pod: PodShape,
    pub service_account: String,
    pub deadline: Duration,
    pub kept: Duration,
}

impl IndexedJob {
    /// The manifest, for [`crate::Ledger::create`].
    #[must_use]
    pub fn manifest(&self) -> Value {
        let mut pod = self.pod.template(&self.name, AGENT_APP);
        let spec = &mut pod["spec"];
        spec["automountServiceAccountToken"] = json!(false);
        let mut apart = Vec::new();
        if !self.apart_from.is_empty() {
            apart.push(not_beside(&self.apart_from, &self.apart_from_namespaces));
        }
        let agents = Pairs::from([("batch.kubernetes.io/job-name".into(), self.name.clone())]);
        match self.spread {
            Spread::OneOnEach => apart.push(not_beside(&agents, &[])),
            Spread::Even => spec["topologySpreadConstraints"] = spread(&agents, "DoNotSchedule"),
            Spread::Preferred => {
                spec["topologySpreadConstraints"] = spread(&agents, "ScheduleAnyway")
            }
        }
        if !apart.is_empty() {
            spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!(apart);
        }
        let mut job = job(
            &self.name,
            AGENT_APP,
            &self.pod,
            pod,
            self.deadline,
            self.kept,
        );
        let spec = &mut job["spec"];
        spec["completionMode"] = json!("Indexed");
        spec["completions"] = json!(self.count);
        spec["parallelism"] = json!(self.count);
        job
    }

    /// The manifest as YAML.
    #[must_use]
    pub fn yaml(&self) -> String {
        yaml(&self.manifest())
    }
}

impl RunnerJob {
    /// The manifest, for [`crate::Ledger::create`].
    #[must_use]
    pub fn manifest(&self) -> Value {
        let mut pod = self.pod.template(&self.name, RUNNER_APP);
        pod["spec"]["serviceAccountName"] = json!(self.service_account);
        job(
            &self.name,
            RUNNER_APP,
            &self.pod,
            pod,
            self.deadline,
            self.kept,
        )
    }

    /// The manifest as YAML.
    #[must_use]
    pub fn yaml(&self) -> String {
        yaml(&self.manifest())
    }
}

fn job(
    name: &str,
    app: &str,
    shape: &PodShape,
    pod: Value,
    deadline: Duration,
    kept: Duration,
) -> Value {
    let mut labels = shape.labels.clone();
    labels.insert(APP_LABEL.to_owned(), app.to_owned());
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name, "labels": labels },
        "spec": {
            // A pod that is started again has lost its part of the load, or of the results.
            "backoffLimit": 0,
            "podFailurePolicy": { "rules": [
                { "action": "FailJob", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                { "action": "FailJob", "onExitCodes": { "operator": "NotIn", "values": [0] } },
            ] },
            "activeDeadlineSeconds": deadline.as_secs().max(1),
            "ttlSecondsAfterFinished": kept.as_secs(),
            "template": pod,
        },
    })
}

/// That no pod with these labels is on the node.
fn not_beside(labels: &Pairs, namespaces: &[String]) -> Value {
    let mut term = json!({ "topologyKey": HOST, "labelSelector": { "matchLabels": labels } });
    if !namespaces.is_empty() {
        term["namespaces"] = json!(namespaces);
    }
    term
}

fn spread(labels: &Pairs, otherwise: &str) -> Value {
    json!([{
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": otherwise,
        // A node with a taint that keeps agents away would be an empty one for ever.
        "nodeTaintsPolicy": "Honor",
        "labelSelector": { "matchLabels": labels },
    }])
}

pub(crate) fn yaml(manifest: &Value) -> String {
    serde_saphyr::to_string(manifest).expect("a JSON value of our own is YAML")
}
