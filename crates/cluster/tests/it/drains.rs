//! Nodes that are cordoned by a run and are free again after it, and pods that are evicted as far as their disruption budgets allow it.

use std::{fs, time::Duration};

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;
use waggle_cluster::{Access, ClusterRight, CordonError, Ledger, left_behind, rbac};

use crate::{
    rights::{account, apply},
    server::Lab,
};

const LIMIT: Duration = Duration::from_secs(60);

/// A node that has the name of the lab's namespace.
async fn node(lab: &Lab) -> String {
    let manifest = json!({ "metadata": { "name": lab.namespace, "labels": { "zone": "a" } } });
    lab.request(Method::POST, "/api/v1/nodes", &manifest).await;
    format!("/api/v1/nodes/{}", lab.namespace)
}

async fn is_cordoned(lab: &Lab, node: &str) -> bool {
    let node = lab.request(Method::GET, node, &Value::Null).await;
    assert_eq!(node["metadata"]["labels"]["zone"], "a");
    let (cordon, mark) = (
        &node["spec"]["unschedulable"],
        &node["metadata"]["labels"]["waggle/run"],
    );
    assert_eq!(*mark == lab.run, *cordon == true, "{node}");
    *cordon == true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_cordoned_until_all_of_the_run_is_removed() {
    let lab = Lab::new("cordon").await;
    let path = node(&lab).await;
    let mut ledger = lab.ledger().await;
    ledger.cordon(&lab.namespace).await.unwrap();
    assert!(is_cordoned(&lab, &path).await);
    let why = ledger.cordon(&lab.namespace).await.unwrap_err();
    assert!(matches!(why, CordonError::Cordoned(_)), "{why}");
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert!(!is_cordoned(&lab, &path).await);
    assert!(left_behind(&lab.place()).unwrap().is_empty());
    // What is not there is not made.
    let why = ledger.cordon("none-of-these").await.unwrap_err();
    assert!(why.to_string().contains("it is not there"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cordon_of_somebody_else_stays() {
    let lab = Lab::new("theirs").await;
    let path = node(&lab).await;
    let cordon = json!({ "spec": { "unschedulable": true } });
    lab.request(Method::PATCH, &path, &cordon).await;
    let mut ledger = lab.ledger().await;
    let why = ledger.cordon(&lab.namespace).await.unwrap_err();
    let expected = format!(
        "node {} is cordoned already, by somebody else",
        lab.namespace
    );
    assert_eq!(why.to_string(), expected);
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    let node = lab.request(Method::GET, &path, &Value::Null).await;
    assert_eq!(node["spec"]["unschedulable"], true);
}

/// Its process was killed: `waggle system down` finds the cordon by its note, or who submitted the run by its label.
#[tokio::test(flavor = "multi_thread")]
async fn the_cordon_of_a_killed_run_is_taken_away() {
    let lab = Lab::new("killed-drain").await;
    let path = node(&lab).await;
    let mut submitter = lab.ledger().await;
    submitter.expect_cordons().unwrap();
    let mut in_pod = Ledger::new(lab.access().await, None, &lab.run);
    in_pod.cordon(&lab.namespace).await.unwrap();
    drop(in_pod);
    assert!(is_cordoned(&lab, &path).await);
    submitter.keep();
    let mut left = left_behind(&lab.place()).unwrap();
    let left = left.remove(0);
    assert_eq!(left.lines(), ["cordons of nodes"]);
    let file = left.file.clone();
    assert_eq!(left.remove(LIMIT).await.unwrap(), Vec::<String>::new());
    assert!(!is_cordoned(&lab, &path).await);
    assert!(!fs::exists(file).unwrap());
}

async fn pod(lab: &Lab, access: &Access) -> waggle_cluster::PodStatus {
    let manifest = json!({
        "metadata": { "name": "shop", "labels": { "app": "shop", "waggle/run": lab.run, "waggle/system": "shop" } },
        "spec": { "containers": [{ "name": "shop", "image": "lab/shop:1" }] },
    });
    lab.request(Method::POST, "pods", &manifest).await;
    let status =
        json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
    lab.set_status("pods/shop", status).await;
    let pods = access.system_pods(&lab.namespace, &lab.run, "shop").await;
    pods.unwrap().remove(0)
}

/// Controllers have not counted the pods of the budget, so none may go.
#[tokio::test(flavor = "multi_thread")]
async fn a_disruption_budget_keeps_a_pod_and_is_named() {
    let lab = Lab::new("budget").await;
    let access = lab.access().await;
    let pod = pod(&lab, &access).await;
    let budget = json!({
        "metadata": { "name": "one" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": "shop" } } },
    });
    let path = "policy/v1/poddisruptionbudgets";
    lab.request(Method::POST, path, &budget).await;
    let evicted = access.evict_pod(&lab.namespace, &pod, Instant::now()).await;
    let why = evicted.unwrap_err().to_string();
    assert!(
        why.starts_with("pod shop may not be evicted after 0 s: "),
        "{why}"
    );
    assert!(why.contains("disruption budget one"), "{why}");
    lab.request(Method::DELETE, &format!("{path}/one"), &json!({}))
        .await;
    let deadline = Instant::now() + LIMIT;
    let evicted = access.evict_pod(&lab.namespace, &pod, deadline);
    evicted.await.unwrap();
    assert_eq!(lab.names("pods").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn drains_need_the_rights_that_are_printed_for_them() {
    let lab = Lab::new("rights-drain").await;
    let path = node(&lab).await;
    apply(&lab, &rbac(&lab.namespace, &[ClusterRight::Drains], &[])).await;
    let access = account(&lab).await;
    let pod = pod(&lab, &lab.access().await).await;
    let mut ledger = Ledger::new(access.clone(), None, &lab.run);
    access.check_drains(&lab.namespace).await.unwrap();
    ledger.cordon(&lab.namespace).await.unwrap();
    let deadline = Instant::now() + LIMIT;
    let evicted = access.evict_pod(&lab.namespace, &pod, deadline);
    evicted.await.unwrap();
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert!(!is_cordoned(&lab, &path).await);

    let lab = Lab::new("no-drain").await;
    apply(&lab, &rbac(&lab.namespace, &[], &[])).await;
    let access = account(&lab).await;
    let mut ledger = Ledger::new(access, None, &lab.run);
    let why = ledger.cordon("n1").await.unwrap_err().to_string();
    assert!(why.starts_with("cannot get nodes n1: not allowed"), "{why}");
    let hint = "`waggle cluster rbac --drain` prints a ClusterRole that allows it";
    assert!(why.ends_with(hint), "{why}");
    assert_eq!(why.matches("waggle cluster rbac").count(), 1, "{why}");
    let checked = ledger.access().check_drains(&lab.namespace).await;
    let why = checked.unwrap_err().to_string();
    assert!(
        why.starts_with("cannot get nodes: not allowed, the verb \"get\""),
        "{why}"
    );
    assert!(why.ends_with(hint), "{why}");
}
