//! The pod of a Job: whole CPUs, nothing that restarts, evicts or wraps it, and no privilege.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::labels::APP_LABEL;

/// Its only container.
pub(crate) const CONTAINER: &str = "waggle";
/// From the request to end until it is killed.
const GRACE_SECONDS: u32 = 20;
/// The name of the volume of a folder that is empty at the start.
pub(crate) const SCRATCH: &str = "scratch";
/// The name of the volume of a claim.
const CLAIM: &str = "cache";
/// A user without rights, as images of this kind have it.
const USER: u32 = 65_532;

/// When a node pulls the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PullPolicy {
    Always,
    #[default]
    IfNotPresent,
    /// It is on the node already, or the pod does not start.
    Never,
}

/// A taint of nodes that a pod does not mind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// Empty: every taint.
    pub key: String,
    /// `None`: whatever its value.
    pub value: Option<String>,
    /// `NoSchedule`, `NoExecute`; `None`: every one.
    pub effect: Option<String>,
}

/// Keys of a secret as files in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedSecret {
    pub secret: String,
    /// Absolute.
    pub folder: String,
}

/// What a container may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resources {
    /// Whole CPUs, which are its own where the kubelet assigns them (the static policy), and memory; it gets no less and no more.
    Whole { cpus: u32, memory_bytes: u64 },
    /// It gets no less and no more of what has a limit.
    Limits {
        cpus: Option<f64>,
        memory_bytes: Option<u64>,
    },
}

impl Default for Resources {
    fn default() -> Self {
        Self::Limits {
            cpus: None,
            memory_bytes: None,
        }
    }
}

impl Resources {
    fn value(self) -> Value {
        let (cpu, bytes) = match self {
            Self::Whole { cpus, memory_bytes } => (Some(cpus.to_string()), Some(memory_bytes)),
            Self::Limits { cpus, memory_bytes } => (cpus.map(thousandths), memory_bytes),
        };
        let mut amounts = json!({});
        if let Some(cpu) = cpu {
            amounts["cpu"] = json!(cpu);
        }
        if let Some(bytes) = bytes {
            amounts["memory"] = json!(memory(bytes));
        }
        json!({ "requests": amounts, "limits": amounts })
    }
}

/// CPUs as Kubernetes writes parts of them; it has no smaller ones.
fn thousandths(cpus: f64) -> String {
    format!("{:.0}m", (cpus * 1000.0).max(1.0))
}

/// What the pods of a Job have in common.
#[derive(Debug, Clone, Default)]
pub struct PodShape {
    pub image: String,
    pub pull_policy: PullPolicy,
    /// Secrets with which the image is pulled.
    pub pull_secrets: Vec<String>,
    /// Empty: the one of the image.
    pub command: Vec<String>,
    /// No secret belongs here: whoever may read pods can read them.
    pub arguments: Vec<String>,
    /// Name and value.
    pub environment: BTreeMap<String, String>,
    /// Name of the variable; secret and key that it is from.
    pub environment_from_secrets: BTreeMap<String, (String, String)>,
    /// Name of the variable that has the name of the node; empty: there is none.
    pub node_variable: String,
    pub secrets: Vec<MountedSecret>,
    /// A folder that is empty at the start, for files of the pod, and its largest size in bytes.
    pub scratch: Option<(String, u64)>,
    /// A folder that is kept from pod to pod, and the claim of its volume.
    pub claim: Option<(String, String)>,
    pub resources: Resources,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    /// Of the Job and of its pods, such as [`crate::RUN_LABEL`].
    pub labels: BTreeMap<String, String>,
}

impl PullPolicy {
    fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

impl PodShape {
    /// The template of a Job's pods.
    pub(super) fn template(&self, job: &str, app: &str) -> Value {
        let mut labels = self.labels.clone();
        labels.insert(APP_LABEL.to_owned(), app.to_owned());
        let mut spec = json!({
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                // So that it may read the files of its secrets.
                "fsGroup": USER,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [self.container()],
        });
        let volumes = self.volumes();
        if !volumes.is_empty() {
            spec["volumes"] = json!(volumes);
        }
        if !self.pull_secrets.is_empty() {
            let named = |name: &String| json!({ "name": name });
            spec["imagePullSecrets"] = self.pull_secrets.iter().map(named).collect();
        }
        if !self.node_selector.is_empty() {
            spec["nodeSelector"] = json!(self.node_selector);
        }
        if !self.tolerations.is_empty() {
            spec["tolerations"] = self.tolerations.iter().map(Toleration::value).collect();
        }
        json!({
            "metadata": {
                "name": job,
                "labels": labels,
                "annotations": {
                    "karpenter.sh/do-not-disrupt": "true",
                    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                    "sidecar.istio.io/inject": "false",
                    "linkerd.io/inject": "disabled",
                },
            },
            "spec": spec,
        })
    }

    fn container(&self) -> Value {
        let mut container = json!({
            "name": CONTAINER,
            "image": self.image,
            "imagePullPolicy": self.pull_policy.name(),
            "resources": self.resources.value(),
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
            },
            // Its last lines are in its status, if it fails.
            "terminationMessagePolicy": "FallbackToLogsOnError",
        });
        let texts = [("command", &self.command), ("args", &self.arguments)];
        for (key, texts) in texts.into_iter().filter(|(_, texts)| !texts.is_empty()) {
            container[key] = json!(texts);
        }
        let environment = self.variables();
        if !environment.is_empty() {
            container["env"] = json!(environment);
        }
        let mounts = self.mounts();
        if !mounts.is_empty() {
            container["volumeMounts"] = json!(mounts);
        }
        container
    }

    fn variables(&self) -> Vec<Value> {
        let plain = self.environment.iter();
        let plain = plain.map(|(name, value)| json!({ "name": name, "value": value }));
        let secret = self.environment_from_secrets.iter();
        let secret = secret.map(|(name, (secret, key))| {
            let reference = json!({ "name": secret, "key": key });
            json!({ "name": name, "valueFrom": { "secretKeyRef": reference } })
        });
        let mut variables: Vec<Value> = plain.chain(secret).collect();
        if !self.node_variable.is_empty() {
            let node = json!({ "fieldRef": { "fieldPath": "spec.nodeName" } });
            variables.push(json!({ "name": self.node_variable, "valueFrom": node }));
        }
        variables
    }

    fn mounts(&self) -> Vec<Value> {
        let secret = |(number, mounted): (usize, &MountedSecret)| {
            let name = format!("secret-{number}");
            json!({ "name": name, "mountPath": mounted.folder, "readOnly": true })
        };
        let mut mounts: Vec<Value> = self.secrets.iter().enumerate().map(secret).collect();
        if let Some((folder, _)) = &self.scratch {
            mounts.push(json!({ "name": SCRATCH, "mountPath": folder }));
        }
        if let Some((folder, _)) = &self.claim {
            mounts.push(json!({ "name": CLAIM, "mountPath": folder }));
        }
        mounts
    }

    fn volumes(&self) -> Vec<Value> {
        let secret = |(number, mounted): (usize, &MountedSecret)| {
            let content = json!({ "secretName": mounted.secret, "defaultMode": 0o440 });
            json!({ "name": format!("secret-{number}"), "secret": content })
        };
        let mut volumes: Vec<Value> = self.secrets.iter().enumerate().map(secret).collect();
        if let Some((_, bytes)) = &self.scratch {
            let content = json!({ "sizeLimit": memory(*bytes) });
            volumes.push(json!({ "name": SCRATCH, "emptyDir": content }));
        }
        if let Some((_, claim)) = &self.claim {
            let content = json!({ "claimName": claim });
            volumes.push(json!({ "name": CLAIM, "persistentVolumeClaim": content }));
        }
        volumes
    }
}

impl Toleration {
    fn value(&self) -> Value {
        let mut value = match &self.value {
            Some(text) => json!({ "operator": "Equal", "value": text }),
            None => json!({ "operator": "Exists" }),
        };
        if !self.key.is_empty() {
            value["key"] = json!(self.key);
        }
        if let Some(effect) = &self.effect {
            value["effect"] = json!(effect);
        }
        value
    }
}

/// Bytes as Kubernetes writes them.
pub(super) fn memory(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1024 * 1024;
    if bytes.is_multiple_of(MEBIBYTE) {
        return format!("{}Mi", bytes / MEBIBYTE);
    }
    bytes.to_string()
}
