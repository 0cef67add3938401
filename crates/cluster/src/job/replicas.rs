//! The replicas of a component: a StatefulSet, whose pods have stable names by a Service without an address of its own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    AGENT_APP, Spread, not_beside,
    pod::{PodShape, SCRATCH, memory},
    spread, yaml,
};
use crate::labels::{APP_LABEL, COMPONENT_APP, COMPONENT_LABEL, RUN_LABEL, START_LABEL};

/// Replicas that start together and are numbered from 0. Their containers are started again by Kubernetes if they end.
#[derive(Debug, Clone)]
pub struct ReplicaSet {
    /// Of the StatefulSet and of the Service; its pods have it before their numbers.
    pub name: String,
    /// As the system has it.
    pub component: String,
    /// What distinguishes this start from others of the same run.
    pub start: String,
    pub pod: PodShape,
    pub replicas: u32,
    /// They may be on the node of an agent of this run.
    pub beside_agents: bool,
    pub spread: Spread,
    /// Of a fresh volume for each replica, in place of an empty folder of its node; it goes with the replica.
    pub storage_class: Option<String>,
}

impl ReplicaSet {
    /// Labels of its pods.
    fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (APP_LABEL.to_owned(), COMPONENT_APP.to_owned()),
            (COMPONENT_LABEL.to_owned(), self.component.clone()),
            (START_LABEL.to_owned(), self.start.clone()),
        ])
    }

    /// The manifest of the Service, for [`crate::Ledger::create`]: names are known before pods are ready.
    #[must_use]
    pub fn service(&self) -> Value {
        json!({
            "metadata": { "name": self.name, "labels": self.labels() },
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": true,
                "selector": self.labels(),
            },
        })
    }

    /// The manifest of the StatefulSet, for [`crate::Ledger::create`]. `run`: whose agents are kept away.
    #[must_use]
    pub fn manifest(&self, run: &str) -> Value {
        let mut pod = self.pod.template(&self.name, COMPONENT_APP);
        let labels = self.labels();
        for (name, value) in &labels {
            pod["metadata"]["labels"][name] = json!(value);
        }
        // A Job of the namespace gives its name to its pods; a set does that itself.
        if let Some(metadata) = pod["metadata"].as_object_mut() {
            metadata.remove("name");
        }
        let spec = &mut pod["spec"];
        spec["restartPolicy"] = json!("Always");
        spec["automountServiceAccountToken"] = json!(false);
        let mut apart = Vec::new();
        if !self.beside_agents {
            let agents = BTreeMap::from([
                (APP_LABEL.to_owned(), AGENT_APP.to_owned()),
                (RUN_LABEL.to_owned(), run.to_owned()),
            ]);
            apart.push(not_beside(&agents, &[]));
        }
        match self.spread {
            Spread::OneOnEach => apart.push(not_beside(&labels, &[])),
            Spread::Even => spec["topologySpreadConstraints"] = spread(&labels, "DoNotSchedule"),
            Spread::Preferred => {
                spec["topologySpreadConstraints"] = spread(&labels, "ScheduleAnyway");
            }
        }
        if !apart.is_empty() {
            spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!(apart);
        }
        let mut set = json!({
            "metadata": { "name": self.name, "labels": labels },
            "spec": {
                "replicas": self.replicas,
                "serviceName": self.name,
                "podManagementPolicy": "Parallel",
                "selector": { "matchLabels": labels },
            },
        });
        if let (Some(class), Some((_, bytes))) = (&self.storage_class, &self.pod.scratch) {
            if let Some(volumes) = spec["volumes"].as_array_mut() {
                volumes.retain(|volume| volume["name"] != SCRATCH);
            }
            set["spec"]["volumeClaimTemplates"] = json!([{
                "metadata": { "name": SCRATCH },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": class,
                    "resources": { "requests": { "storage": memory(*bytes) } },
                },
            }]);
            set["spec"]["persistentVolumeClaimRetentionPolicy"] =
                json!({ "whenDeleted": "Delete", "whenScaled": "Delete" });
        }
        set["spec"]["template"] = pod;
        set
    }

    /// Both manifests as YAML.
    #[must_use]
    pub fn yaml(&self, run: &str) -> String {
        format!(
            "{}---\n{}",
            yaml(&self.service()),
            yaml(&self.manifest(run))
        )
    }

    /// The name by which others reach a replica, from anywhere in the cluster.
    #[must_use]
    pub fn host(&self, number: u32, namespace: &str) -> String {
        format!("{0}-{number}.{0}.{namespace}.svc", self.name)
    }
}
