//! A system that is manifests: applied in the cluster for a trial, measured, a pod of it killed, and removed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use waggle_results::Run;

use super::bench::{Bench, bench};
use crate::workspace::{Workspace, output_text};

const SYSTEM: &str = "
system: shop
summary: A gateway that Kubernetes keeps up.
parameters:
  replicas: { summary: how many, integer: { min: 1, max: 3 }, default: 2 }
  tag: { summary: of the image, text: {}, default: '1' }
  note: { summary: what another version has in its annotations, text: {}, default: first }
manifests: [k8s/]
patches:
  deployment/gateway:
    spec.replicas: ${replicas}
    'spec.template.spec.containers[name=gateway].image': 'localhost/waggle/gateway:${tag}'
    spec.template.metadata.annotations.note: ${note}
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
          args: [serve, '--listen=0.0.0.0:8080', --insecure, '--workers=1', '--store=/tmp/store.db']
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
        "--drain",
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

/// The only trial, which came to its end with these faults, each of which was over.
#[track_caller]
fn check_faults(said: &str, workspace: &Workspace, expected: &[&str]) {
    let model = waggle_analysis::model(&Run::read(&workspace.run_folder()).unwrap());
    let [trial] = &model.trials[..] else {
        panic!("{said}");
    };
    assert_eq!(trial.failure, None, "{said}");
    let faults = trial.info.faults.iter();
    let faults: Vec<String> = faults
        .map(|fault| {
            assert!(fault.ready_s.is_some_and(|ready| ready > fault.begun_s));
            format!("{} of {}", fault.kind.name(), fault.name())
        })
        .collect();
    assert_eq!(faults, expected, "{said}");
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
    let faults = "repeat: 1 }\nfaults:\n  - { kill: gateway, replica: 1, at: 500ms, restart_after: 0s }\n  \
         - { upgrade: gateway, at: 8s, set: { note: second, replicas: 3 } }\n  - { upgrade: gateway, at: 22s }";
    let changes = [
        ("measure: 2s", "measure: 24s"),
        ("repeat: 1 }", faults),
        ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 3m"),
    ];
    let workspace = study(bench, "manifests", OBJECTS, &changes);
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    let folder = workspace.run_folder();
    let faults = [
        "kill of gateway-1",
        "upgrade of gateway",
        "upgrade of gateway",
    ];
    check_faults(&said, &workspace, &faults);
    let logs = find(&folder, "applied.yaml");
    let applied = fs::read_to_string(&logs).unwrap();
    assert!(applied.contains("replicas: 2"), "{applied}");
    assert!(!applied.contains("open-sesame-7"), "{applied}");
    let pods = fs::read_to_string(logs.with_file_name("pods.json")).unwrap();
    assert!(pods.matches("\"image_id\": \"").count() >= 3, "{pods}");
    check_replaced(logs.parent().unwrap(), &pods);
    let upgrade = |number: u32| {
        let file = logs.with_file_name(format!("upgrade-{number}.yaml"));
        fs::read_to_string(file).unwrap()
    };
    let (first, second) = (upgrade(1), upgrade(2));
    assert!(
        first.contains("replicas: 3") && first.contains("note: second"),
        "{first}"
    );
    assert!(!first.contains("kind: Service"), "{first}");
    assert!(
        second.contains("replicas: 3") && second.contains("restartedAt"),
        "{second}"
    );
    assert!(logs.with_file_name("events.txt").is_file());
    assert_eq!(system_objects(bench, "manifests"), "");
}

/// The pod that was killed and the two that the first upgrade replaced are known, with their logs. The three of the second one may still be
/// there at the end.
#[track_caller]
fn check_replaced(logs: &Path, pods: &str) {
    let count = pods.matches("\"is_replaced\": true").count();
    assert!((3..=6).contains(&count), "{pods}");
    let names = fs::read_dir(logs).unwrap();
    let names = names.map(|entry| entry.unwrap().path());
    let is_replaced = |path: &PathBuf| path.to_str().unwrap().contains(".replaced-");
    let texts: Vec<String> = names
        .filter(is_replaced)
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(texts.len(), count, "{texts:?}");
    // A log that does not begin soon enough on a busy machine is lost with its pod.
    let is_log = |text: &String| text.contains("listening on");
    assert!(texts.iter().any(is_log), "{texts:?}");
}

/// Nothing is lost with the node: its pod comes up on another one.
#[test]
fn a_node_is_drained_and_uncordoned_in_cluster() {
    let bench = bench();
    let _fourth = bench.take_fourth_node();
    let fourth = bench.cluster.node_name("n4");
    let on_fourth = format!(
        "spec:\n      tolerations: [{{ key: test, value: node-dies, effect: NoSchedule }}]\n      affinity: {{ nodeAffinity: {{ \
         preferredDuringSchedulingIgnoredDuringExecution: [{{ weight: 100, preference: {{ matchFields: [{{ key: metadata.name, \
         operator: In, values: [{fourth}] }}] }} }}] }} }}\n      terminationGracePeriodSeconds: 1"
    );
    let objects = OBJECTS.replace("spec:\n      terminationGracePeriodSeconds: 1", &on_fourth)
        + "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: { name: gateway }\nspec: { maxUnavailable: 1, selector: { matchLabels: { app: gateway } } }\n";
    let faults = "repeat: 1 }\nfaults: [{ drain: gateway, at: 500ms }]";
    let changes = [
        ("repeat: 1 }", faults),
        ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 3m"),
    ];
    let workspace = study(bench, "drained", &objects, &changes);
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    check_faults(&said, &workspace, &["drain of gateway-0"]);
    let logs = find(&workspace.run_folder(), "applied.yaml");
    let pods = fs::read_to_string(logs.with_file_name("pods.json")).unwrap();
    let listed: Vec<serde_json::Value> = serde_json::from_str(&pods).unwrap();
    let (replaced, there): (Vec<_>, Vec<_>) =
        listed.iter().partition(|pod| pod["is_replaced"] == true);
    let is_on_fourth = |pod: &&&serde_json::Value| pod["node"] == fourth.as_str();
    assert_eq!(there.len(), 2, "{pods}");
    assert_eq!(there.iter().filter(is_on_fourth).count(), 0, "{pods}");
    // What was on the node, one or both, is known with its log.
    assert!(!replaced.is_empty(), "{pods}");
    assert_eq!(
        replaced.iter().filter(is_on_fourth).count(),
        replaced.len(),
        "{pods}"
    );
    let list = ["get", "nodes", "--selector=waggle/run", "--output=name"];
    assert_eq!(bench.cluster.kubectl(&list), "");
    let cordon = [
        "get",
        "node",
        &fourth,
        "--output=jsonpath={.spec.unschedulable}",
    ];
    assert_eq!(bench.cluster.kubectl(&cordon), "");
    assert_eq!(system_objects(bench, "drained"), "");
}

/// Each way in which a system of manifests does not come up or is not upgraded, with what is said of it.
#[track_caller]
fn check_refused(namespace: &str, objects: &str, changes: &[(&str, &str)], words: &[&str]) {
    let bench = bench();
    let mut all = vec![("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 40s")];
    all.extend(changes);
    let workspace = study(bench, namespace, objects, &all);
    match namespace {
        // The pods of the runner and of its agent are let in.
        "few" => {
            let quota = [
                "create",
                "quota",
                "pods",
                "--hard=pods=2",
                "--namespace=few",
            ];
            bench.cluster.kubectl(&quota);
        }
        "verb" => {
            let list = [
                "get",
                "role",
                "waggle",
                "--namespace=verb",
                "--output=jsonpath={.rules[*].resources[0]}",
            ];
            let resources = bench.cluster.kubectl(&list);
            let place = resources
                .split(' ')
                .position(|resource| resource == "deployments");
            let change = format!(
                r#"[{{ "op": "replace", "path": "/rules/{}/verbs", "value": ["get", "create", "delete"] }}]"#,
                place.unwrap()
            );
            let patch = [
                "patch",
                "role",
                "waggle",
                "--namespace=verb",
                "--type=json",
                "--patch",
            ];
            bench.cluster.kubectl(&[&patch[..], &[&change]].concat());
        }
        _ => {}
    }
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    for words in words {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert_ne!(ran.status.code(), Some(0), "{said}");
    assert_eq!(system_objects(bench, namespace), "");
}

#[test]
fn an_upgrade_without_its_image_says_so_in_cluster() {
    let fault = "repeat: 1 }\nfaults: [{ upgrade: gateway, at: 200ms, set: { tag: none } }]";
    let words = [
        "gateway is not upgraded: not ready after ",
        "the node does not get the image localhost/waggle/gateway:none (ErrImageNeverPull)",
    ];
    check_refused("half", OBJECTS, &[("repeat: 1 }", fault)], &words);
}

#[test]
fn pods_that_a_quota_refuses_are_named_in_cluster() {
    let words = ["Deployment gateway: 0 of 2 pods are available", "quota"];
    check_refused("few", OBJECTS, &[], &words);
}

#[test]
fn a_verb_that_manifests_need_is_named_in_cluster() {
    let words = ["the verb \"patch\" for \"deployments\" is missing"];
    check_refused("verb", OBJECTS, &[], &words);
}

#[test]
fn pods_that_no_node_takes_are_named_in_cluster() {
    let nowhere =
        "spec:\n      nodeSelector: { test: nowhere }\n      terminationGracePeriodSeconds: 1";
    let objects = OBJECTS.replace("spec:\n      terminationGracePeriodSeconds: 1", nowhere);
    let words = ["Deployment gateway: 0 of 2 pods are available", "node"];
    check_refused("nowhere", &objects, &[], &words);
}

#[test]
fn a_system_that_does_not_get_ready_says_why_and_is_removed_in_cluster() {
    let bench = bench();
    let tag = ("use: shop", "use: shop\n  set: { tag: missing }");
    let workspace = study(bench, "never-ready", OBJECTS, &[tag]);
    let ran = run_in_cluster(bench, &workspace);
    let said = output_text(&ran);
    assert!(
        said.contains("Deployment gateway: 0 of 2 pods are available"),
        "{said}"
    );
    assert!(
        said.contains(
            "the node does not get the image localhost/waggle/gateway:missing (ErrImageNeverPull)"
        ),
        "{said}"
    );
    assert_eq!(system_objects(bench, "never-ready"), "");
}

/// The file of this name below a folder.
pub(super) fn find(folder: &Path, name: &str) -> PathBuf {
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
