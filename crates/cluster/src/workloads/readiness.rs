//! Whether an object is ready, as `kubectl rollout status` and `kubectl wait` judge it.

use serde_json::Value;

use crate::{api::ForeignKind, labels::Pairs};

/// How far an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// What is missing.
    NotYet(String),
    /// No time will help.
    Failed(String),
}

/// Whether objects of a kind are waited for without a condition.
pub(super) fn is_known(kind: &ForeignKind) -> bool {
    matches!(
        (kind.group.as_str(), kind.kind.as_str()),
        (
            "apps",
            "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet"
        ) | ("batch", "Job")
            | ("", "Pod")
    )
}

/// Of an object whose kind Kubernetes itself has; `None`: nothing is waited for.
pub(super) fn readiness(kind: &str, object: &Value) -> Option<Readiness> {
    let is_seen =
        number(object, "/status/observedGeneration") >= number(object, "/metadata/generation");
    let wanted = match object.pointer("/spec/replicas") {
        Some(Value::Number(_)) => number(object, "/spec/replicas"),
        _ => 1,
    };
    let status = |key: &str| number(object, &format!("/status/{key}"));
    let pods = |count: i64, wanted: i64, what: &str| match is_seen && count >= wanted {
        true => Readiness::Ready,
        false => Readiness::NotYet(format!("{count} of {wanted} pods are {what}")),
    };
    Some(match kind {
        "Deployment" => {
            let is_old = status("replicas") > status("updatedReplicas");
            match pods(
                status("updatedReplicas").min(status("availableReplicas")),
                wanted,
                "available",
            ) {
                Readiness::Ready if is_old => {
                    Readiness::NotYet("pods of the version before are still there".to_owned())
                }
                state => state,
            }
        }
        "StatefulSet" => {
            let is_rolling = object
                .pointer("/spec/updateStrategy/type")
                .and_then(Value::as_str)
                != Some("OnDelete");
            let revisions = ["/status/currentRevision", "/status/updateRevision"];
            let [current, update] = revisions.map(|path| object.pointer(path));
            match pods(status("readyReplicas"), wanted, "ready") {
                Readiness::Ready if is_rolling && current != update => {
                    Readiness::NotYet("pods of the version before are still there".to_owned())
                }
                state => state,
            }
        }
        "ReplicaSet" => pods(status("readyReplicas"), wanted, "ready"),
        "DaemonSet" => {
            let wanted = status("desiredNumberScheduled");
            pods(
                status("updatedNumberScheduled").min(status("numberAvailable")),
                wanted,
                "available",
            )
        }
        "Job" => match (condition(object, "Complete"), condition(object, "Failed")) {
            (Some(_), _) => Readiness::Ready,
            (None, Some(why)) => Readiness::Failed(why),
            (None, None) => Readiness::NotYet("it has not completed".to_owned()),
        },
        "Pod" => match condition(object, "Ready") {
            Some(_) => Readiness::Ready,
            None if object.pointer("/status/phase") == Some(&Value::from("Succeeded")) => {
                Readiness::Ready
            }
            None => Readiness::NotYet("it is not ready".to_owned()),
        },
        _ => return None,
    })
}

/// Of an object that has this condition.
pub(super) fn named_condition(object: &Value, name: &str) -> Readiness {
    match condition(object, name) {
        Some(_) => Readiness::Ready,
        None => {
            let message = all_conditions(object).find(|condition| condition["type"] == name);
            let message = message.and_then(|condition| condition["message"].as_str());
            let why = match message {
                Some(message) if !message.is_empty() => {
                    format!("condition {name} is not true: {message}")
                }
                _ => format!("condition {name} is not true"),
            };
            Readiness::NotYet(why)
        }
    }
}

fn all_conditions(object: &Value) -> impl Iterator<Item = &Value> {
    let conditions = object
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions.into_iter().flatten()
}

/// The message of a condition that is true.
fn condition(object: &Value, name: &str) -> Option<String> {
    let mut all = all_conditions(object);
    let condition =
        all.find(|condition| condition["type"] == name && condition["status"] == "True")?;
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    Some(format!("{}: {}", text("reason"), text("message")))
}

fn number(object: &Value, pointer: &str) -> i64 {
    object
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The labels by which a workload finds its pods.
#[must_use]
pub fn selector_of(object: &Value) -> Pairs {
    let labels = object
        .pointer("/spec/selector/matchLabels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    labels
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, spec: Value, status: Value, expected: Option<Readiness>) {
        let object = json!({ "metadata": { "generation": 2 }, "spec": spec, "status": status });
        assert_eq!(readiness(kind, &object), expected, "{kind} {object}");
    }

    fn not_yet(why: &str) -> Option<Readiness> {
        Some(Readiness::NotYet(why.to_owned()))
    }

    #[test]
    fn objects_are_ready_as_kubectl_says() {
        let two = || json!({ "replicas": 2 });
        let counts = |generation: u32, all: u32, updated: u32, available: u32| {
            json!({
                "observedGeneration": generation, "replicas": all, "updatedReplicas": updated,
                "availableReplicas": available,
            })
        };
        check(
            "Deployment",
            two(),
            json!({}),
            not_yet("0 of 2 pods are available"),
        );
        check(
            "Deployment",
            two(),
            counts(1, 2, 2, 2),
            not_yet("2 of 2 pods are available"),
        );
        check(
            "Deployment",
            two(),
            counts(2, 2, 2, 1),
            not_yet("1 of 2 pods are available"),
        );
        let old = not_yet("pods of the version before are still there");
        check("Deployment", two(), counts(2, 3, 2, 3), old.clone());
        check(
            "Deployment",
            two(),
            counts(2, 2, 2, 2),
            Some(Readiness::Ready),
        );
        check(
            "Deployment",
            json!({ "replicas": 0 }),
            counts(2, 0, 0, 0),
            Some(Readiness::Ready),
        );
        let set = |ready: u32, current: &str| {
            json!({
                "observedGeneration": 2, "readyReplicas": ready, "currentRevision": current,
                "updateRevision": "b",
            })
        };
        check(
            "StatefulSet",
            two(),
            set(1, "b"),
            not_yet("1 of 2 pods are ready"),
        );
        check("StatefulSet", two(), set(2, "a"), old);
        check("StatefulSet", two(), set(2, "b"), Some(Readiness::Ready));
    }

    #[test]
    fn jobs_and_pods_are_ready_by_their_conditions() {
        let condition = |name: &str| json!({ "conditions": [{ "type": name, "status": "True", "reason": "R", "message": "m" }] });
        check("Job", json!({}), json!({}), not_yet("it has not completed"));
        check(
            "Job",
            json!({}),
            condition("Complete"),
            Some(Readiness::Ready),
        );
        check(
            "Job",
            json!({}),
            condition("Failed"),
            Some(Readiness::Failed("R: m".to_owned())),
        );
        check("Pod", json!({}), condition("Ready"), Some(Readiness::Ready));
        check("Service", json!({}), json!({}), None);
    }
}
