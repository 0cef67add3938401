//! Objects of others' manifests: applied, refused, waited for and removed, with the states that controllers and kubelets write.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;
use waggle_cluster::{
    Access, Awaited, ForeignKind, Ledger, Manifest, ObjectError, Scope, left_behind, read_manifests,
};

use crate::server::Lab;

const LIMIT: Duration = Duration::from_secs(60);
const PART: &str = "shop";
const SHOP: &str = r#"
apiVersion: v1
kind: Service
metadata: { name: shop }
spec: { selector: { app: shop }, ports: [{ name: http, port: 80, targetPort: web }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  replicas: 2
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec: { containers: [{ name: shop, image: "lab/shop:1", ports: [{ name: web, containerPort: 8080 }] }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: store }
spec:
  serviceName: store
  selector: { matchLabels: { app: store } }
  template:
    metadata: { labels: { app: store } }
    spec: { containers: [{ name: store, image: "lab/store:1" }] }
  volumeClaimTemplates:
    - metadata: { name: files }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
"#;

/// The shop's objects with their kinds, as the server names them.
async fn shop(access: &Access) -> Vec<(ForeignKind, Manifest)> {
    let mut objects = Vec::new();
    for manifest in read_manifests(SHOP).unwrap() {
        let kinds = access.api_kinds(&manifest.api_version).await.unwrap();
        let mut kinds = kinds.into_iter();
        let kind = kinds
            .find(|known| known.kind.kind == manifest.kind)
            .unwrap();
        assert!(kind.is_namespaced);
        objects.push((kind.kind, manifest));
    }
    objects
}

async fn apply(lab: &Lab, ledger: &mut Ledger) -> Vec<(ForeignKind, Manifest)> {
    let objects = shop(&lab.access().await).await;
    for (kind, manifest) in &objects {
        let checked = ledger.check_new(kind, &lab.namespace, &manifest.object, PART);
        checked.await.unwrap();
    }
    for (kind, manifest) in &objects {
        let applied = ledger.apply(kind, &lab.namespace, &manifest.object, PART);
        applied.await.unwrap();
    }
    objects
}

/// Does what the controllers of a cluster do for the deletion of workloads, until these are gone.
async fn release(lab: &Lab) {
    let patch = json!({ "metadata": { "finalizers": null } });
    let mut is_there = true;
    while is_there {
        is_there = false;
        for path in ["apps/v1/deployments/shop", "apps/v1/statefulsets/store"] {
            let patched = lab.try_request(Method::PATCH, path, &patch).await;
            is_there |= patched.is_ok();
        }
    }
}

fn scope(lab: &Lab) -> Scope<'_> {
    Scope {
        namespace: &lab.namespace,
        run: &lab.run,
        part: PART,
    }
}

fn to_await(objects: &[(ForeignKind, Manifest)]) -> Vec<Awaited> {
    objects
        .iter()
        .map(|(kind, manifest)| Awaited {
            kind: kind.clone(),
            name: manifest.name.clone(),
            condition: None,
        })
        .collect()
}

/// A pod of the shop with the labels that its template has.
async fn pod(lab: &Lab, name: &str, app: &str, status: Value) {
    let manifest = json!({
        "metadata": {
            "name": name,
            "labels": { "app": app, "waggle/run": lab.run, "waggle/system": PART },
        },
        "spec": { "containers": [{ "name": app, "image": "lab/shop:1", "ports": [{ "name": "web", "containerPort": 8080 }] }] },
    });
    lab.request(Method::POST, "pods", &manifest).await;
    lab.set_status(&format!("pods/{name}"), status).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_are_applied_labelled_and_removed_in_reverse() {
    let lab = Lab::new("applied").await;
    let mut ledger = lab.ledger().await;
    apply(&lab, &mut ledger).await;
    let object = lab
        .request(Method::GET, "apps/v1/deployments/shop", &Value::Null)
        .await;
    let labels = |value: &Value| {
        let labels = &value["metadata"]["labels"];
        (
            labels["waggle/run"].clone(),
            labels["waggle/system"].clone(),
        )
    };
    let expected = (json!(lab.run), json!(PART));
    assert_eq!(labels(&object), expected);
    assert_eq!(labels(&object["spec"]["template"]), expected);
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "waggle");
    assert_eq!(object["metadata"]["managedFields"][0]["operation"], "Apply");
    let store = lab
        .request(Method::GET, "apps/v1/statefulsets/store", &Value::Null)
        .await;
    assert_eq!(labels(&store["spec"]["volumeClaimTemplates"][0]), expected);
    let left = left_behind(&lab.place()).unwrap();
    let lines: Vec<String> = left[0].lines();
    let expected = ["Service shop", "Deployment shop", "StatefulSet store"]
        .map(|title| format!("{title} in namespace {}", lab.namespace));
    assert_eq!(lines, expected);
    let (problems, ()) = tokio::join!(ledger.delete_all(LIMIT), release(&lab));
    assert_eq!(problems, []);
    assert_eq!(lab.names("services").await, Vec::<String>::new());
    assert!(left_behind(&lab.place()).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_the_run_get_other_fields() {
    let lab = Lab::new("changed").await;
    let mut ledger = lab.ledger().await;
    let objects = apply(&lab, &mut ledger).await;
    let (kind, deployment) = &objects[1];
    let mut object = deployment.object.clone();
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("lab/shop:2");
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("replicas");
    }
    let namespace = &lab.namespace;
    let checked = ledger.check_change(kind, namespace, &object, PART);
    checked.await.unwrap();
    let seen = async || {
        let path = "apps/v1/deployments/shop";
        let object = lab.request(Method::GET, path, &Value::Null).await;
        let image = &object["spec"]["template"]["spec"]["containers"][0]["image"];
        (image.clone(), object["spec"]["replicas"].clone())
    };
    assert_eq!(seen().await, (json!("lab/shop:1"), json!(2)), "only asked");
    let changed = ledger.change(kind, namespace, &object, PART).await.unwrap();
    assert_eq!(changed["metadata"]["labels"]["waggle/run"], lab.run);
    // What it lacks now has Kubernetes' default.
    assert_eq!(seen().await, (json!("lab/shop:2"), json!(1)));
    object["spec"]["selector"] = json!({ "matchLabels": { "app": "other" } });
    let checked = ledger.check_change(kind, namespace, &object, PART);
    let why = checked.await.unwrap_err().to_string();
    assert!(why.contains("field is immutable"), "{why}");
    let left = left_behind(&lab.place()).unwrap();
    assert_eq!(left[0].lines().len(), 3, "noted once each");
    let (_, ()) = tokio::join!(ledger.delete_all(LIMIT), release(&lab));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_others_is_refused_and_kept() {
    let lab = Lab::new("theirs").await;
    let ledger = lab.ledger().await;
    let objects = shop(&lab.access().await).await;
    let (kind, service) = &objects[0];
    lab.request(Method::POST, "services", &service.object).await;
    let checked = ledger.check_new(kind, &lab.namespace, &service.object, PART);
    let why = checked.await.unwrap_err();
    assert_eq!(
        why.to_string(),
        format!(
            "Service shop is in namespace {} already, and is not of this run: remove it, or give the system another namespace",
            lab.namespace
        )
    );
    // One that was made after the check.
    let mut ledger = ledger;
    let applied = ledger.apply(kind, &lab.namespace, &service.object, PART);
    let why = applied.await.unwrap_err();
    assert!(matches!(why, ObjectError::Exists(_)), "{why}");
    assert_eq!(ledger.delete_all(LIMIT).await, []);
    assert_eq!(lab.names("services").await, ["shop"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_does_not_take_is_known_before_anything_is_made() {
    let lab = Lab::new("wrong").await;
    let ledger = lab.ledger().await;
    let objects = shop(&lab.access().await).await;
    let (kind, deployment) = &objects[1];
    let mut object = deployment.object.clone();
    object["spec"]["selector"] = json!({ "matchLabels": { "app": "other" } });
    let checked = ledger.check_new(kind, &lab.namespace, &object, PART);
    let why = checked.await.unwrap_err().to_string();
    assert!(
        why.contains("`selector` does not match template `labels`"),
        "{why}"
    );
    assert_eq!(lab.names("apps/v1/deployments").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn workloads_are_waited_for_until_their_status_says_so() {
    let lab = Lab::new("ready").await;
    let mut ledger = lab.ledger().await;
    let objects = apply(&lab, &mut ledger).await;
    let access = lab.access().await;
    let awaited = to_await(&objects);
    let deadline = Instant::now() + LIMIT;
    let waiting = access.watch_workloads(scope(&lab), &awaited, deadline);
    let write = async {
        let counts = json!({
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
            "availableReplicas": 2,
        });
        lab.set_status("apps/v1/deployments/shop", counts).await;
        let counts = json!({
            "observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "currentRevision": "a", "updateRevision": "a",
        });
        lab.set_status("apps/v1/statefulsets/store", counts).await;
    };
    let (ready, ()) = tokio::join!(waiting, write);
    ready.unwrap();
    let (_, ()) = tokio::join!(ledger.delete_all(LIMIT), release(&lab));
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_will_not_run_end_the_wait_with_their_reason() {
    let lab = Lab::new("stuck").await;
    let mut ledger = lab.ledger().await;
    let objects = apply(&lab, &mut ledger).await;
    let access = lab.access().await;
    let awaited = to_await(&objects);
    let container = |state: Value, restarts: u32, last: Value| {
        json!({
            "phase": "Pending",
            "containerStatuses": [{
                "name": "shop", "image": "lab/shop:1", "imageID": "", "ready": false,
                "restartCount": restarts, "state": state, "lastState": last,
            }],
        })
    };
    let never = json!({ "waiting": { "reason": "ErrImageNeverPull", "message": "not here" } });
    pod(&lab, "shop-a", "shop", container(never, 0, json!({}))).await;
    let wait = async || {
        let deadline = Instant::now() + LIMIT;
        let watched = access.watch_workloads(scope(&lab), &awaited, deadline);
        watched.await.unwrap_err().to_string()
    };
    let why = wait().await;
    for words in [
        "Deployment shop: 0 of 2 pods are available",
        "pod shop-a: the node does not get the image lab/shop:1 (ErrImageNeverPull)",
    ] {
        assert!(why.contains(words), "{why}");
    }
    let loops = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off" } });
    let ended =
        json!({ "terminated": { "exitCode": 3, "reason": "Error", "message": "no store" } });
    lab.set_status("pods/shop-a", container(loops, 5, ended))
        .await;
    let why = wait().await;
    assert!(
        why.contains("pod shop-a: it ended with code 3; its last lines: no store"),
        "{why}"
    );
    let (_, ()) = tokio::join!(ledger.delete_all(LIMIT), release(&lab));
}

#[tokio::test(flavor = "multi_thread")]
async fn services_pods_and_claims_are_found_and_ended() {
    let lab = Lab::new("ended").await;
    let mut ledger = lab.ledger().await;
    apply(&lab, &mut ledger).await;
    let access = lab.access().await;
    let service = access
        .service(&lab.namespace, "shop")
        .await
        .unwrap()
        .unwrap();
    assert!(service.address.is_some());
    assert_eq!(service.port("http").map(|port| port.number), Some(80));
    assert_eq!(access.service(&lab.namespace, "none").await.unwrap(), None);
    let ready = json!({
        "phase": "Running", "podIP": "10.1.0.1", "conditions": [{ "type": "Ready", "status": "True" }],
    });
    pod(&lab, "shop-a", "shop", ready).await;
    let pods = access
        .system_pods(&lab.namespace, &lab.run, PART)
        .await
        .unwrap();
    assert!(pods[0].is_ready);
    assert_eq!(pods[0].ports[0].number, 8080);
    access
        .end_pod(&lab.namespace, &pods[0], LIMIT)
        .await
        .unwrap();
    assert_eq!(lab.names("pods").await, Vec::<String>::new());
    // Another one of that name is not touched.
    pod(&lab, "shop-a", "shop", json!({})).await;
    access
        .end_pod(&lab.namespace, &pods[0], LIMIT)
        .await
        .unwrap();
    assert_eq!(lab.names("pods").await, ["shop-a"]);
    let claim = |name: &str, run: &str| {
        json!({
            "metadata": { "name": name, "labels": { "waggle/run": run, "waggle/system": PART } },
            "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        })
    };
    for (name, run) in [("files-store-0", lab.run.as_str()), ("theirs", "other")] {
        lab.request(Method::POST, "persistentvolumeclaims", &claim(name, run))
            .await;
    }
    // Nobody protects claims here.
    let removed = ledger.delete_claims(&lab.namespace, PART, LIMIT);
    let unprotect = async {
        let path = "persistentvolumeclaims/files-store-0";
        let patch = json!({ "metadata": { "finalizers": null } });
        while lab.try_request(Method::PATCH, path, &patch).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let (removed, ()) = tokio::join!(removed, unprotect);
    assert_eq!(removed.unwrap(), []);
    assert_eq!(lab.names("persistentvolumeclaims").await, ["theirs"]);
    let (_, ()) = tokio::join!(ledger.delete_all(LIMIT), release(&lab));
}
