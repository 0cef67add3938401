//! Why pods do not run: the states that kubelets, the scheduler and the API server write, as sentences.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use waggle_cluster::{Kind, NotRunning, Reason, WaitLimits};

use crate::{manifests, server::Lab};

const NOW: WaitLimits = WaitLimits {
    total: Duration::from_secs(60),
    creation: Duration::ZERO,
    image: Duration::ZERO,
    node: Duration::ZERO,
};

/// A Job of two agents.
async fn job(lab: &Lab) -> String {
    let name = format!("agents-{}", lab.run);
    let mut ledger = lab.ledger().await;
    let manifest = manifests::agents(&name).manifest();
    let made = ledger
        .create(Kind::Job, Some(&lab.namespace), manifest)
        .await;
    made.unwrap().name
}

async fn not_running(lab: &Lab, job: &str) -> NotRunning {
    let access = lab.access().await;
    let waited = access.watch_pods(&lab.namespace, job, NOW, |_, _| {}).await;
    waited.expect_err("they do not run")
}

fn running_state() -> Value {
    container(
        json!({ "running": { "startedAt": "2026-01-01T00:00:00Z" } }),
        "Running",
    )
}

fn container(state: Value, phase: &str) -> Value {
    json!({
        "phase": phase,
        "containerStatuses": [{
            "name": "waggle", "image": "lab/waggle:1", "imageID": "", "restartCount": 0, "ready": phase == "Running", "state": state,
        }],
    })
}

/// One pod runs; of the other one this is the sentence.
async fn check(word: &str, status: Value, expected: &str) {
    let lab = Lab::new(word).await;
    let job = job(&lab).await;
    lab.pod(&job, 0, running_state()).await;
    lab.pod(&job, 1, status).await;
    let why = not_running(&lab, &job).await;
    assert_eq!((why.running, why.wanted), (1, 2));
    assert_eq!(why.stuck[0].to_string(), format!("pod {job}-1: {expected}"));
    let begin = format!("1 of 2 pods of {job} run after ");
    assert!(why.to_string().starts_with(&begin), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn images() {
    let waiting = |reason: &str, message: &str| {
        container(
            json!({ "waiting": { "reason": reason, "message": message } }),
            "Pending",
        )
    };
    check(
        "pull",
        waiting("ImagePullBackOff", "Back-off pulling image \"lab/waggle:1\""),
        "the node does not get the image lab/waggle:1 (ImagePullBackOff): Back-off pulling image \"lab/waggle:1\"; check its name, and \
         whether nodes may pull it from its registry",
    )
    .await;
    check(
        "never",
        waiting("ErrImageNeverPull", "Container image \"lab/waggle:1\" is not present with pull policy of Never"),
        "the node does not get the image lab/waggle:1 (ErrImageNeverPull): Container image \"lab/waggle:1\" is not present with pull \
         policy of Never; load it into every node, or let nodes pull it",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_node() {
    let message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod anti-affinity rules. no new claims to \
                   deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.";
    let condition = json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
    check(
        "node",
        json!({ "phase": "Pending", "conditions": [condition] }),
        "no node takes it: 0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod anti-affinity rules; ask for fewer \
         CPUs for each pod, take fewer pods, or add nodes; each node has a pod on it that must not share its node with this one: add \
         nodes, take fewer pods, or let them share nodes",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_with_the_same_reason_are_named_together() {
    let lab = Lab::new("alike").await;
    let job = job(&lab).await;
    let waiting = json!({ "waiting": { "reason": "ErrImageNeverPull", "message": "not here" } });
    for index in [0, 1] {
        lab.pod(&job, index, container(waiting.clone(), "Pending"))
            .await;
    }
    let why = not_running(&lab, &job).await.to_string();
    let expected = format!("; pod {job}-0 and 1 more: the node does not get the image");
    assert!(why.contains(&expected), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_that_end() {
    let ended = |code: i32, reason: &str, message: &str| {
        container(
            json!({ "terminated": { "exitCode": code, "reason": reason, "message": message } }),
            "Failed",
        )
    };
    check(
        "oom",
        ended(137, "OOMKilled", ""),
        "it used more memory than it may and was killed (OOMKilled, code 137)",
    )
    .await;
    check(
        "error",
        ended(2, "Error", "cannot reach the runner\nat 10.0.0.1\n"),
        "it ended with code 2; its last lines: cannot reach the runner | at 10.0.0.1",
    )
    .await;
    check(
        "start",
        ended(128, "StartError", "exec: \"wagle\": executable file not found in $PATH"),
        "the container cannot be started (StartError): exec: \"wagle\": executable file not found in $PATH",
    )
    .await;
    let loops = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } });
    check(
        "loop",
        container(loops, "Running"),
        "the container cannot be started (CrashLoopBackOff): back-off 10s",
    )
    .await;
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": "Taint manager: deleting",
    });
    let mut evicted = running_state();
    evicted["phase"] = json!("Failed");
    evicted["conditions"] = json!([condition]);
    check(
        "evicted",
        evicted,
        "it was moved away (DeletionByTaintManager: Taint manager: deleting)",
    )
    .await;
}

/// An event as the Job's controller writes it.
async fn refuse(lab: &Lab, job: &str, message: &str) {
    let event = json!({
        "metadata": { "name": "refused" },
        "involvedObject": { "kind": "Job", "name": job, "namespace": lab.namespace },
        "reason": "FailedCreate",
        "message": format!("Error creating: {message}"),
        "type": "Warning",
        "count": 3,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    lab.request(Method::POST, "events", &event).await;
}

/// What the API server says to a pod like those of the Job.
async fn refusal(lab: &Lab, job: &str) -> String {
    let manifest = manifests::agents(job).manifest();
    let pod = json!({
        "metadata": { "name": "refused" },
        "spec": manifest["spec"]["template"]["spec"],
    });
    let mut lines = Vec::new();
    for _ in 0..600 {
        match lab.try_request(Method::POST, "pods", &pod).await {
            Err(kube::Error::Api(status)) => return status.message,
            Err(why) => lines.push(why.to_string()),
            // What refuses it is not known to all parts of the API server yet.
            Ok(_) => {
                lab.request(
                    Method::DELETE,
                    "pods/refused?gracePeriodSeconds=0",
                    &Value::Null,
                )
                .await;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it is admitted: {lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_that_is_used_up() {
    let lab = Lab::new("quota").await;
    let job = job(&lab).await;
    let quota =
        json!({ "metadata": { "name": "small" }, "spec": { "hard": { "limits.cpu": "2" } } });
    lab.request(Method::POST, "resourcequotas", &quota).await;
    let status = json!({ "hard": { "limits.cpu": "2" }, "used": { "limits.cpu": "1500m" } });
    lab.set_status("resourcequotas/small", status).await;
    let message = refusal(&lab, &job).await;
    refuse(&lab, &job, &message).await;
    let why = not_running(&lab, &job).await;
    assert_eq!(
        why.stuck[0].to_string(),
        "quota small of the namespace is too small: limits.cpu=1 is asked for, limits.cpu=1500m is used of limits.cpu=2; take fewer or \
         smaller pods, or have the quota raised"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_a_namespace() {
    let lab = Lab::new("limits").await;
    let job = job(&lab).await;
    let limit = json!({ "type": "Container", "max": { "cpu": "500m" } });
    let range = json!({ "metadata": { "name": "small" }, "spec": { "limits": [limit] } });
    lab.request(Method::POST, "limitranges", &range).await;
    let message = refusal(&lab, &job).await;
    refuse(&lab, &job, &message).await;
    let why = not_running(&lab, &job).await.stuck[0].to_string();
    assert!(
        why.starts_with("the cluster does not admit the pod: pods \"refused\" is forbidden: "),
        "{why}"
    );
    assert!(
        why.contains("maximum cpu usage per Container is 500m, but limit is 1"),
        "{why}"
    );
}

/// The pods of both Jobs are admitted where the strictest of Kubernetes' standards holds.
#[tokio::test(flavor = "multi_thread")]
async fn pods_meet_the_restricted_standard() {
    let lab = Lab::new("restricted").await;
    let label =
        json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    let namespace = format!("/api/v1/namespaces/{}", lab.namespace);
    lab.request(Method::PATCH, &namespace, &label).await;
    let mut open = manifests::agents("x").manifest()["spec"]["template"]["spec"].clone();
    let pod = |spec: &Value, name: &str| json!({ "metadata": { "name": name }, "spec": spec });
    lab.request(Method::POST, "pods", &pod(&open, "good")).await;
    open["containers"][0]["securityContext"] = Value::Null;
    let refused = lab
        .try_request(Method::POST, "pods", &pod(&open, "open"))
        .await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("violates PodSecurity"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_failed_and_one_that_is_not_there() {
    let lab = Lab::new("failed").await;
    let job = job(&lab).await;
    let since = "2026-01-01T00:00:00Z";
    let condition = json!({
        "type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline",
        "lastProbeTime": since, "lastTransitionTime": since,
    });
    let status = json!({ "startTime": since, "conditions": [condition] });
    lab.set_status(&format!("batch/v1/jobs/{job}"), status)
        .await;
    let why = not_running(&lab, &job).await;
    assert_eq!(
        why.stuck[0].to_string(),
        "the Job has failed (DeadlineExceeded): Job was active longer than specified deadline"
    );
    let why = not_running(&lab, "none").await;
    assert!(matches!(why.stuck[0].reason, Reason::Api(_)), "{why}");
}

/// Pods come one after the other; each change is told, and the end has them all.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_come_to_run() {
    let lab = Lab::new("runs").await;
    let job = job(&lab).await;
    let access = lab.access().await;
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let limits = WaitLimits::default();
    let waiting = access.watch_pods(&lab.namespace, &job, limits, |running, wanted| {
        told.send((running, wanted)).unwrap();
    });
    let coming = async {
        assert_eq!(heard.recv().await, Some((0, 2)));
        lab.pod(&job, 0, running_state()).await;
        assert_eq!(heard.recv().await, Some((1, 2)));
        lab.pod(&job, 1, running_state()).await;
        assert_eq!(heard.recv().await, Some((2, 2)));
    };
    let (pods, ()) = tokio::join!(waiting, coming);
    let indices: Vec<_> = pods.unwrap().iter().map(|pod| pod.index).collect();
    assert_eq!(indices, [Some(0), Some(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_in_their_order() {
    let lab = Lab::new("events").await;
    for (name, time) in [("b", "2026-01-01T00:00:02Z"), ("a", "2026-01-01T00:00:01Z")] {
        let event = json!({
            "metadata": { "name": name }, "involvedObject": { "kind": "Pod", "name": name, "namespace": lab.namespace },
            "reason": "Killing", "message": "m", "type": "Normal", "lastTimestamp": time,
        });
        lab.request(Method::POST, "events", &event).await;
    }
    let events = lab.access().await.events(&lab.namespace).await.unwrap();
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}
