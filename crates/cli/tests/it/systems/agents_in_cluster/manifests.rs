//! A system that is manifests: applied in the cluster for a trial, measured, a pod of it killed, and removed.

use std::{fs, process::Output};

use waggle_results::Run;

use super::bench::{Bench, bench};
use crate::workspace::{Workspace, output_text};

const SYSTEM: &str = "
system: shop
summary: A gateway that Kubernetes keeps up.
parameters:
  replicas: { summary: how many, integer: { min: 1, max: 3 }, default: 2 }
manifests: [k8s/]
patches:
  deployment/gateway: { spec.replicas: '${replicas}' }
components:
  gateway: { workload: deployment/gateway, service: gateway, ports: [http] }
endpoints:
  gateway: { component: gateway, port: http }
verify:
  - { name: it answers, endpoint: gateway, get: /readyz, expect: { status: 200 } }
";
const OBJECTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: gateway }
spec: { selector: { app: gateway }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Secret
metadata: { name: gateway }
stringData: { word: open-sesame-7 }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: gateway }
spec:
  selector: { matchLabels: { app: gateway } }
  template:
    metadata: { labels: { app: gateway } }
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: gateway
          image: localhost/waggle/gateway:1
          imagePullPolicy: Never
          args: [serve, '--listen=0.0.0.0:8080', '--workers=1', '--store=/tmp/store.db']
          readinessProbe: { httpGet: { path: /readyz, port: 8080 }, periodSeconds: 1 }
";

/// A study of the system, with the rights that it needs in this namespace.
fn study(bench: &Bench, namespace: &str, objects: &str, changes: &[(&str, &str)]) -> Workspace {
    bench.namespace(namespace);
    let url = format!("url: {}", bench.url());
    let mut all = vec![
        (url.as_str(), "use: shop"),
        ("count: 3", "count: 1"),
        ("get: / }", "get: /readyz, endpoint: gateway }"),
    ];
    all.extend(changes);
    let workspace = bench.study(namespace, &all);
    let folder = workspace.path().join("systems/shop");
    fs::create_dir_all(folder.join("k8s")).unwrap();
    fs::write(folder.join("system.yaml"), SYSTEM).unwrap();
    fs::write(folder.join("k8s/gateway.yaml"), objects).unwrap();
    let rights = [
        "cluster",
        "rbac",
        "--nodes",
        "--namespace",
        namespace,
        "--system",
        "systems/shop/system.yaml",
    ];
    let rights = bench.waggle(&workspace, &rights).output().unwrap();
    assert!(rights.status.success(), "{}", output_text(&rights));
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
    workspace
}

fn run_in_cluster(bench: &Bench, workspace: &Workspace) -> Output {
    let mut command = bench.waggle(workspace, &["run", "study.yaml", "--cluster"]);
    command.output().unwrap()
}

/// What the system was made of.
fn system_objects(bench: &Bench, namespace: &str) -> String {
    let kinds = "deployments,services,secrets,pods";
    bench.cluster.kubectl(&[
        "get",
        kinds,
        "--namespace",
        namespace,
        "--selector=waggle/system=shop",
        "--output",
        "name",
    ])
}

#[test]
fn a_system_of_manifests_is_measured_and_killed_in_cluster() {
    let bench = bench();
    let fault = "repeat: 1 }\nfaults: [{ kill: gateway, replica: 1, at: 1s, restart_after: 0s }]";
    let changes = [("measure: 2s", "measure: 4s"), ("repeat: 1 }", fault)];
    let workspace = study(bench, "manifests", OBJECTS, &changes);
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    let folder = workspace.run_folder();
    let model = waggle_analysis::model(&Run::read(&folder).unwrap());
    let [trial] = &model.trials[..] else {
        panic!("{said}");
    };
    assert_eq!(trial.failure, None, "{said}");
    let [fault] = &trial.info.faults[..] else {
        panic!("{said}");
    };
    assert!(fault.ready_s.is_some_and(|ready| ready > fault.killed_s));
    let logs = find(&folder, "applied.yaml");
    let applied = fs::read_to_string(&logs).unwrap();
    assert!(applied.contains("replicas: 2"), "{applied}");
    assert!(!applied.contains("open-sesame-7"), "{applied}");
    let pods = fs::read_to_string(logs.with_file_name("pods.json")).unwrap();
    assert!(pods.contains("\"image_id\": \""), "{pods}");
    assert!(logs.with_file_name("events.txt").is_file());
    assert_eq!(system_objects(bench, "manifests"), "");
}

#[test]
fn a_system_that_does_not_get_ready_says_why_and_is_removed_in_cluster() {
    let bench = bench();
    let objects = OBJECTS.replace("localhost/waggle/gateway:1", "localhost/waggle/none:1");
    let workspace = study(bench, "never-ready", &objects, &[]);
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    assert!(
        said.contains("Deployment gateway: 0 of 2 pods are available"),
        "{said}"
    );
    assert!(
        said.contains(
            "the node does not get the image localhost/waggle/none:1 (ErrImageNeverPull)"
        ),
        "{said}"
    );
    assert_eq!(system_objects(bench, "never-ready"), "");
}

/// The file of this name below a folder.
fn find(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|known| known == name) {
                return path;
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    panic!("no {name} below {}", folder.display());
}
