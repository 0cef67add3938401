//! What a run makes is noted, owned and removed, whoever ends it.

use std::{
    fs,
    process::{Child, Command, Stdio},
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};
use waggle_cluster::{ApiError, Kind, Ledger, ObjectError, left_behind};
use waggle_testkit::Lines;

use crate::{manifests, server::Lab};

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_noted_owned_and_removed() {
    let lab = Lab::new("objects").await;
    let mut ledger = lab.ledger().await;
    let anchor = ledger
        .anchor(&lab.namespace, &[("study", "a.yaml")])
        .await
        .unwrap();
    let name = format!("token-{}", lab.run);
    let secret = json!({ "metadata": { "name": name }, "stringData": { "token": "secret-token" } });
    ledger
        .create(Kind::Secret, Some(&lab.namespace), secret)
        .await
        .unwrap();
    let job = manifests::agents(&format!("agents-{}", lab.run));
    let job = ledger
        .create(Kind::Job, Some(&lab.namespace), job.manifest())
        .await
        .unwrap();
    let object = lab
        .request(
            Method::GET,
            &format!("batch/v1/jobs/{}", job.name),
            &Value::Null,
        )
        .await;
    let metadata = &object["metadata"];
    assert_eq!(metadata["ownerReferences"][0]["uid"], anchor.uid.as_str());
    assert_eq!(metadata["labels"]["waggle/run"], lab.run.as_str());
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["waggle/run"], lab.run.as_str());

    let left = left_behind(&lab.place()).unwrap();
    assert_eq!(left.len(), 1);
    assert!(left[0].is_in_use);
    let lines = left[0].lines();
    assert_eq!(
        lines[1],
        format!("Secret {name} in namespace {}", lab.namespace)
    );
    let text = fs::read_to_string(&left[0].file).unwrap();
    assert!(!text.contains("secret-token"), "{text}");

    ledger.delete(&job, LIMIT).await.unwrap();
    assert_eq!(lab.names("batch/v1/jobs").await, Vec::<String>::new());
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert_eq!(lab.names("secrets").await, Vec::<String>::new());
    assert_eq!(lab.names("configmaps").await, Vec::<String>::new());
    assert!(left_behind(&lab.place()).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_already_is_neither_taken_nor_removed() {
    let lab = Lab::new("taken").await;
    let theirs = json!({ "metadata": { "name": "x" } });
    lab.request(Method::POST, "configmaps", &theirs).await;
    let mut ledger = lab.ledger().await;
    let made = ledger
        .create(Kind::ConfigMap, Some(&lab.namespace), theirs)
        .await;
    assert!(
        matches!(made, Err(ObjectError::Api(ApiError::Conflict { .. }))),
        "{made:?}"
    );
    assert!(left_behind(&lab.place()).unwrap().is_empty());
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert_eq!(lab.names("configmaps").await, ["x"]);
}

/// One that was made again under the same name is another's.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_removed_by_its_uid() {
    let lab = Lab::new("uid").await;
    let mut ledger = lab.ledger().await;
    let manifest = json!({ "metadata": { "name": "x" } });
    ledger
        .create(Kind::ConfigMap, Some(&lab.namespace), manifest.clone())
        .await
        .unwrap();
    lab.request(Method::DELETE, "configmaps/x", &Value::Null)
        .await;
    lab.request(Method::POST, "configmaps", &manifest).await;
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert_eq!(lab.names("configmaps").await, ["x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_go_is_named_with_a_command() {
    let lab = Lab::new("stays").await;
    let mut ledger = lab.ledger().await;
    let manifest = json!({ "metadata": { "name": "x", "finalizers": ["example.com/hold"] } });
    ledger
        .create(Kind::ConfigMap, Some(&lab.namespace), manifest)
        .await
        .unwrap();
    let problems = ledger.delete_all(Duration::ZERO).await;
    assert_eq!(
        problems[0].to_string(),
        format!(
            "ConfigMap x in namespace {0} is still there: it waits for example.com/hold, after 0 s; to remove it: kubectl --context \
             admin --namespace {0} delete configmap x",
            lab.namespace
        )
    );
    assert_eq!(
        left_behind(&lab.place()).unwrap().len(),
        1,
        "it stays noted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_dead_node_are_named_with_what_ends_them() {
    let lab = Lab::new("dead-node").await;
    let mut ledger = lab.ledger().await;
    let set = json!({
        "metadata": { "name": "server", "finalizers": ["example.com/hold"] },
        "spec": {
            "serviceName": "server",
            "selector": { "matchLabels": { "app": "server" } },
            "template": {
                "metadata": { "labels": { "app": "server" } },
                "spec": { "containers": [{ "name": "server", "image": "lab/server:1" }] },
            },
        },
    });
    ledger
        .create(Kind::StatefulSet, Some(&lab.namespace), set)
        .await
        .unwrap();
    let pod = json!({
        "metadata": { "name": "server-0", "labels": { "waggle/run": lab.run } },
        "spec": { "nodeName": "n2", "containers": [{ "name": "server", "image": "lab/server:1" }] },
    });
    lab.request(Method::POST, "pods", &pod).await;
    // No kubelet says that it is gone.
    lab.request(Method::DELETE, "pods/server-0", &Value::Null)
        .await;
    let problems = ledger.delete_all(Duration::ZERO).await;
    assert_eq!(
        problems[0].to_string(),
        format!(
            "StatefulSet server in namespace {0} is still there: it is being deleted, and after 0 s it waits for node n2 to end pod \
             server-0; it goes once that is done, also if a node that is dead comes back; if the node does not come back: kubectl \
             --context admin --namespace {0} delete pod server-0 --grace-period=0 --force",
            lab.namespace
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_by_a_removal_that_was_given_up_stays_noted() {
    let lab = Lab::new("given-up").await;
    let mut ledger = lab.ledger().await;
    let manifest = json!({ "metadata": { "name": "x", "finalizers": ["example.com/hold"] } });
    let made = ledger
        .create(Kind::ConfigMap, Some(&lab.namespace), manifest)
        .await
        .unwrap();
    let removal = ledger.delete_together(std::slice::from_ref(&made), LIMIT);
    let removal = tokio::time::timeout(Duration::from_millis(200), removal);
    assert!(removal.await.is_err(), "its finalizer holds it");
    let problems = ledger.delete_all(Duration::ZERO).await;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(!ledger.is_empty());
    assert_eq!(left_behind(&lab.place()).unwrap().len(), 1);
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_made_is_removed_by_the_next() {
    let lab = Lab::new("killed").await;
    let tests = std::env::current_exe().unwrap();
    let program = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/make_and_wait");
    let mut process = Killed(
        Command::new(program)
            .arg(Lab::admin_kubeconfig())
            .arg(lab.place().folder)
            .args([&lab.namespace, &lab.run])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = Lines::new(process.0.stdout.take().unwrap());
    lines.wait_for("made");
    let left = left_behind(&lab.place()).unwrap();
    assert!(left[0].is_in_use);
    process.0.kill().unwrap();
    process.0.wait().unwrap();

    let mut left = left_behind(&lab.place()).unwrap();
    let left = left.remove(0);
    assert!(!left.is_in_use);
    assert_eq!(left.run(), lab.run);
    assert_eq!(left.lines().len(), 4, "lease, anchor, secret, service");
    assert_eq!(left.remove(LIMIT).await.unwrap(), Vec::<String>::new());
    let resources = [
        "configmaps",
        "secrets",
        "services",
        "coordination.k8s.io/v1/leases",
    ];
    for path in resources {
        assert_eq!(lab.names(path).await, Vec::<String>::new(), "{path}");
    }
    assert!(left_behind(&lab.place()).unwrap().is_empty());
}

/// A run that was killed between the API's answer and its note: which object it was is not known.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_answer_was_lost_is_found_by_its_run() {
    let lab = Lab::new("lost").await;
    let folder = lab.place().folder.join("shop");
    fs::create_dir_all(&folder).unwrap();
    let entry = |kind: &str, name: &str| json!({ "kind": kind, "namespace": lab.namespace, "name": name, "uid": null });
    let name = format!("x-{}", lab.run);
    let access = lab.access().await;
    let noted = json!({
        "kubeconfig": Lab::admin_kubeconfig(),
        "context": "admin",
        "server": access.origin.server,
        "run": lab.run,
        "pid": 1,
        "made": [entry("Lease", "waggle"), entry("Secret", &name), entry("ConfigMap", "never-made")],
    });
    fs::write(folder.join("1-1.json"), noted.to_string()).unwrap();
    let secret = json!({ "metadata": { "name": name } });
    lab.request(Method::POST, "secrets", &secret).await;
    // Another run has the lease.
    let lease = json!({ "metadata": { "name": "waggle", "labels": { "waggle/run": "other" } } });
    lab.request(Method::POST, "coordination.k8s.io/v1/leases", &lease)
        .await;
    let left = left_behind(&lab.place()).unwrap().remove(0);
    assert_eq!(left.remove(LIMIT).await.unwrap(), Vec::<String>::new());
    assert_eq!(lab.names("secrets").await, Vec::<String>::new());
    assert_eq!(lab.names("coordination.k8s.io/v1/leases").await, ["waggle"]);
    assert!(left_behind(&lab.place()).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_under_the_same_context_is_not_touched() {
    let lab = Lab::new("moved").await;
    let mut ledger: Ledger = lab.ledger().await;
    ledger.anchor(&lab.namespace, &[]).await.unwrap();
    drop(ledger);
    let left = left_behind(&lab.place()).unwrap().remove(0);
    let text = fs::read_to_string(&left.file).unwrap();
    let moved = text.replace("https://127.0.0.1", "https://192.0.2.1");
    fs::write(&left.file, moved).unwrap();
    let left = left_behind(&lab.place()).unwrap().remove(0);
    let why = left.remove(LIMIT).await.unwrap_err().to_string();
    assert!(
        why.contains("context \"admin\" was https://192.0.2.1"),
        "{why}"
    );
    assert_eq!(lab.names("configmaps").await.len(), 1);
}
