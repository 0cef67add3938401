//! What is kept of a system of manifests before it is removed: what was applied, its pods, their logs, and the events of the namespace.

use std::{io, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;
use waggle_cluster::{Access, Event, Manifest, PodStatus};
use waggle_results::private_file;

use super::{
    leaving::{LeftPod, file_names},
    objects::SystemObject,
};

/// How long reading of a log may take, because a node that is dead does not answer, and of all.
const LOG_TIMEOUT: Duration = Duration::from_secs(8);
pub(super) const LOGS_TIMEOUT: Duration = Duration::from_secs(60);
/// Shorter values of secrets would hide other words.
const HIDDEN_MIN_BYTES: usize = 8;
const HIDDEN: &str = "(removed)";
const APPLIED: &str = "applied.yaml";
const PODS: &str = "pods.json";
const EVENTS: &str = "events.txt";

/// Where evidence is kept, and what is taken out of it.
#[derive(Debug)]
pub(super) struct Keeping<'a> {
    pub(super) access: &'a Access,
    pub(super) namespace: &'a str,
    pub(super) folder: &'a Path,
    /// Secrets in all their forms, each with what stands in its place.
    pub(super) hidden: Vec<(String, String)>,
    pub(super) objects: Vec<SystemObject>,
}

/// Writes what is to be applied, without the values of secrets; `upgrade`: by which upgrade of the trial, counted from 1.
pub(super) fn write_applied(
    folder: &Path,
    objects: &[SystemObject],
    upgrade: Option<usize>,
) -> io::Result<()> {
    private_file::create_folder(folder)?;
    let name = match upgrade {
        None => APPLIED.to_owned(),
        Some(number) => format!("upgrade-{number}.yaml"),
    };
    let texts: Vec<String> = objects
        .iter()
        .map(|object| object.manifest.yaml())
        .collect();
    private_file::write_file(&folder.join(name), texts.join("---\n"))
}

impl Keeping<'_> {
    /// Reads all that is kept; returns what could not be had.
    pub(super) async fn keep(&self, pods: &[PodStatus], left: &[LeftPod]) -> Vec<String> {
        let mut problems = Vec::new();
        match timeout(LOGS_TIMEOUT, self.read(pods, left)).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => problems.push(format!("logs of pods are not kept: {why}")),
            Err(_) => problems.push("logs of pods could not be read in time".to_owned()),
        }
        problems
    }

    async fn read(&self, pods: &[PodStatus], left: &[LeftPod]) -> io::Result<()> {
        private_file::create_folder(self.folder)?;
        let there = pods.iter().map(pod_facts);
        let replaced = left.iter().map(|left| {
            let mut facts = pod_facts(&left.pod);
            facts["is_replaced"] = json!(true);
            facts
        });
        let text = serde_json::to_string_pretty(&there.chain(replaced).collect::<Vec<_>>())?;
        private_file::write_file(&self.folder.join(PODS), text + "\n")?;
        for (name, text) in file_names(left) {
            self.write(&name, text)?;
        }
        let events = match self.access.events(self.namespace).await {
            Ok(events) => events.iter().map(event_line).collect(),
            Err(why) => format!("events cannot be read: {why}\n"),
        };
        self.write(EVENTS, &events)?;
        for pod in pods {
            for container in pod.init_containers.iter().chain(&pod.containers) {
                let name = format!("{}.{}", pod.name, container.name);
                let text = self.log(pod, &container.name, false).await;
                self.write(&format!("{name}.log"), &text)?;
                if container.restarts > 0 {
                    let text = self.log(pod, &container.name, true).await;
                    self.write(&format!("{name}.previous.log"), &text)?;
                }
            }
        }
        Ok(())
    }

    async fn log(&self, pod: &PodStatus, container: &str, previous: bool) -> String {
        let log = (self.access).container_log(self.namespace, &pod.name, container, previous);
        match timeout(LOG_TIMEOUT, log).await {
            Ok(Ok(text)) => text,
            Ok(Err(why)) => format!("the log cannot be read: {why}\n"),
            Err(_) => {
                let seconds = LOG_TIMEOUT.as_secs();
                format!("the log cannot be read: no answer within {seconds} s\n")
            }
        }
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        private_file::write_file(&self.folder.join(name), self.redact(text))
    }

    /// Takes secrets out of a text: those of the study, and those of the manifests.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (form, mark) in &self.hidden {
            text = text.replace(form, mark);
        }
        let manifests = self.objects.iter().map(|object| &object.manifest);
        for value in manifests.flat_map(Manifest::secret_values) {
            if value.len() >= HIDDEN_MIN_BYTES {
                text = text.replace(&value, HIDDEN);
            }
        }
        text
    }
}

fn pod_facts(pod: &PodStatus) -> Value {
    let containers = pod.init_containers.iter().chain(&pod.containers);
    let containers: Vec<Value> = containers
        .map(|container| {
            json!({
                "name": container.name,
                "image": container.image,
                "image_id": container.image_id,
                "restarts": container.restarts,
            })
        })
        .collect();
    json!({
        "name": pod.name,
        "uid": pod.uid,
        "node": pod.node,
        "address": pod.pod_ip,
        "phase": pod.phase,
        "qos_class": pod.qos_class,
        "containers": containers,
    })
}

fn event_line(event: &Event) -> String {
    format!(
        "{} {} {} {}: {} (×{})\n",
        event.time, event.severity, event.kind, event.name, event.message, event.count
    )
}
