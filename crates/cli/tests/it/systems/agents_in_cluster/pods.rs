//! Systems whose components are pods: the same files as for processes, in images that are made here, measured and killed; and ways in
//! which that fails, each of which ends in a sentence and an empty namespace.

use std::{env, fs, path::Path, process::Output};

use waggle_analysis::Model;
use waggle_results::{PhaseName, Run};
use waggle_testkit::wait_until;

use super::{
    NODES,
    bench::{Bench, bench},
};
use crate::workspace::{Workspace, output_text};

pub(super) const GATEWAY_IMAGE: &str = "localhost/waggle/ingest:1";
pub(super) const KAFKA_IMAGE: &str = "localhost/waggle/ingest-kafka:1";

/// An image of a system, and the nodes that have it.
pub(super) struct SystemImage<'a> {
    pub(super) system: &'a str,
    pub(super) name: &'a str,
    /// Of which configurations: `parameter=level`.
    pub(super) levels: &'a [&'a str],
    pub(super) nodes: &'a [&'a str],
}

/// Makes an image and brings it into its nodes.
pub(super) fn import_image(bench: &Bench, workspace: &Workspace, image: &SystemImage<'_>) {
    let file = workspace.path().join("image.tar");
    let file = file.to_str().unwrap();
    let name = ["--image-name", image.name, "--output", file];
    let system = ["system", "image", image.system];
    let arguments = [&system, image.levels, &name[..]].concat();
    let mut command = bench.waggle(workspace, &arguments);
    // Artifacts are where they were fetched to, and the gateway is beside the program of the tests.
    match env::var_os("XDG_CACHE_HOME") {
        Some(cache) => command.env("XDG_CACHE_HOME", cache),
        None => command.env_remove("XDG_CACHE_HOME"),
    };
    let programs = Path::new(env!("CARGO_BIN_EXE_waggle")).parent().unwrap();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [programs.to_owned()].into_iter();
    let folders = folders.chain(env::split_paths(&path));
    command.env("PATH", env::join_paths(folders).unwrap());
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", output_text(&made));
    bench.cluster.import_into(image.nodes, &[Path::new(file)]);
    fs::remove_file(file).unwrap();
}

/// An image of the system `ingest`. The fourth node may be dead.
pub(super) fn ingest_image<'a>(name: &'a str, levels: &'a [&'a str]) -> SystemImage<'a> {
    SystemImage {
        system: "ingest",
        name,
        levels,
        nodes: &NODES,
    }
}

/// A study of records for a gateway that is a pod, in a namespace with the rights that it needs.
pub(super) fn study(bench: &Bench, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
    bench.namespace(namespace);
    let kubeconfig = bench.cluster.kubeconfig();
    let pods = format!(
        "use: ingest\n  set: {{ topic: {namespace} }}\n  pods:\n    image: {GATEWAY_IMAGE}\n    pull: never\n    namespace: {namespace}\n    \
         kubeconfig: {}\n    scratch: 256MiB\n    beside_agents: true",
        kubeconfig.display()
    );
    let external = format!(
        "use: ingest\n  set: {{ topic: {namespace} }}\n  external: {{ gateway: {{ http: '{}' }} }}",
        bench.gateway_address()
    );
    let host = format!("  listen: {}:0\n", bench.cluster.host());
    let mut all = vec![
        (external.as_str(), pods.as_str()),
        (host.as_str(), ""),
        ("rate: 300/s", "rate: 60/s"),
        ("measure: 2s", "measure: 5s"),
        ("quiet_timeout: 0s", "quiet_timeout: 0s, ready_timeout: 3m"),
    ];
    all.extend(changes);
    let workspace = bench.study_of_records(namespace, &all);
    grant(bench, &workspace, namespace);
    workspace
}

/// Gives the rights that a run needs in a namespace.
pub(super) fn grant(bench: &Bench, workspace: &Workspace, namespace: &str) {
    let rights = ["cluster", "rbac", "--nodes", "--namespace", namespace];
    let rights = bench.waggle(workspace, &rights).output().unwrap();
    bench
        .cluster
        .apply(&String::from_utf8(rights.stdout).unwrap());
}

pub(super) fn run(bench: &Bench, workspace: &Workspace) -> Output {
    let mut command = bench.waggle(workspace, &["run", "study.yaml", "--no-live"]);
    command.output().unwrap()
}

/// The only trial was measured, its fault was carried out, and no accepted record is missing.
#[track_caller]
fn check_fault(said: &str, model: &Model) {
    let [trial] = &model.trials[..] else {
        panic!("{said}");
    };
    assert_eq!(trial.failure, None, "{said}");
    let [fault] = &trial.info.faults[..] else {
        panic!("{said}");
    };
    let measure = trial.info.phase(PhaseName::Measure).unwrap();
    assert!(fault.begun_s > 0.0 && measure.start_s > 0.0);
    assert!(fault.ready_s > fault.started_s, "{fault:?}");
    let ledger = trial.info.ledger.as_ref().unwrap();
    assert!(ledger.accepted > 0, "{ledger:?}");
    // A broker that was away may have written what it could not acknowledge, and a 503 says so. Nothing else is unexpected.
    assert_eq!(ledger.missing, 0, "{ledger:?}");
    assert_eq!(ledger.unexpected, ledger.rejected_delivered, "{ledger:?}");
}

/// What runs and their systems have made.
fn objects(bench: &Bench, namespace: &str) -> String {
    let kinds = "statefulsets,services,persistentvolumeclaims";
    let list = ["get", kinds, "--namespace", namespace, "--output", "name"];
    bench.objects(namespace) + &bench.cluster.kubectl(&list)
}

#[track_caller]
pub(super) fn wait_until_empty(bench: &Bench, namespace: &str) {
    wait_until("the namespace is empty", || {
        objects(bench, namespace).is_empty()
    });
}

/// Text of a file among the logs of the first trial.
pub(super) fn log(workspace: &Workspace, name: &str) -> String {
    let trials = fs::read_dir(workspace.run_folder().join("trials")).unwrap();
    let trial = trials.map(|entry| entry.unwrap().path()).next().unwrap();
    fs::read_to_string(trial.join("logs").join(name)).unwrap_or_default()
}

/// The load is made by the runner, in its pod.
const NO_AGENTS: &str = "load:";
/// It may have an image of its own.
const RUNNER: &str = "runner:";

pub(super) fn without_agents(workspace: &Workspace) {
    let file = workspace.path().join("study.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("agents:\n").unwrap();
    let next = [RUNNER, NO_AGENTS].map(|key| rest.find(key));
    let next = next.into_iter().flatten().min().unwrap();
    fs::write(&file, format!("{before}{}", &rest[next..])).unwrap();
}

#[test]
fn a_component_as_a_pod_is_killed_and_loses_nothing_in_cluster() {
    let bench = bench();
    let fault = "repeat: 1, drain: { timeout: 60s } }\nfaults: [{ kill: gateway, at: 1s, restart_after: 300ms }]";
    let changes = [("repeat: 1, drain: { timeout: 60s } }", fault)];
    let workspace = study(bench, "pod", &changes);
    without_agents(&workspace);
    let image = ingest_image(GATEWAY_IMAGE, &["backend=embedded"]);
    import_image(bench, &workspace, &image);
    let ran = run(bench, &workspace);
    let said = output_text(&ran);
    let results = Run::read(&workspace.run_folder()).unwrap();
    check_fault(&said, &waggle_analysis::model(&results));
    let gateway = log(&workspace, "gateway-0.log");
    let lives = gateway.matches("listening on http://0.0.0.0:").count();
    assert_eq!(lives, 2, "{gateway}");
    assert!(
        gateway.contains("[waggle started it again here]"),
        "{gateway}"
    );
    let pods = log(&workspace, "pods.txt");
    assert!(
        pods.contains(GATEWAY_IMAGE) && pods.contains("sha256:"),
        "{pods}"
    );
    assert!(log(&workspace, "pod-events.txt").contains("Container started"));
    let [placed] = &results.trials[0].info.pods[..] else {
        panic!("{:?}", results.trials[0].info.pods);
    };
    assert_eq!(placed.replica, "gateway-0");
    assert!(pods.contains(&format!("node {}", placed.pod.node_name)));
    let node = placed.pod.node.as_ref().unwrap();
    assert!(node.allocatable_cpus > 0.0, "{node:?}");
    let report = fs::read_to_string(workspace.run_folder().join("report.md")).unwrap();
    assert!(report.contains("Nodes of the system"), "{report}");
    let used = &results.trials[0].resources;
    assert!(
        used.iter()
            .any(|row| row.component == "gateway-0" && row.rss_bytes > 0)
    );
    wait_until_empty(bench, "pod");
}

const PREPARED: &str = "repeat: 2, drain: { timeout: 60s } }
prepare:
  snapshot: true
  loads:
    - name: fill
      sessions: 20
      endpoint: records
      steps:
        - { name: put, put: /api/v1/topics/filled/records, body: 'filled,n={{session}} v=1 1', expect: { status: 204 } }
      verify:
        - name: all
          get: '/api/v1/topics/filled/latest?series=filled,n=20'
          expect: { status: 200 }
";

#[test]
fn a_prepared_pod_is_a_snapshot_for_later_trials_in_cluster() {
    let bench = bench();
    let repeat = "repeat: 1, drain: { timeout: 60s } }";
    let changes = [
        (repeat, PREPARED.trim_end()),
        ("measure: 5s", "measure: 2s"),
    ];
    let workspace = study(bench, "snapshot", &changes);
    without_agents(&workspace);
    let image = ingest_image(GATEWAY_IMAGE, &["backend=embedded"]);
    import_image(bench, &workspace, &image);
    let ran = run(bench, &workspace);
    let said = output_text(&ran);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let results = Run::read(&workspace.run_folder()).unwrap();
    let model = waggle_analysis::model(&results);
    let [first, second] = &model.trials[..] else {
        panic!("{said}");
    };
    let mut reused = Vec::new();
    for trial in [first, second] {
        assert_eq!(trial.failure, None, "{said}");
        let ledger = trial.info.ledger.as_ref().unwrap();
        assert_eq!((ledger.missing, ledger.unexpected), (0, 0), "{ledger:?}");
        let preparation = trial.info.preparation.as_ref().unwrap();
        let snapshot = preparation.snapshot.as_ref().unwrap();
        reused.push((trial.info.position, snapshot.is_reused));
    }
    reused.sort_unstable();
    // The second one begins with what was read from the pod of the first.
    assert_eq!(reused, [(1, false), (2, true)], "{said}");
    wait_until_empty(bench, "snapshot");
}

#[test]
fn three_brokers_on_three_nodes_lose_nothing_with_one_of_them_in_cluster() {
    let bench = bench();
    let set =
        "set: { topic: brokers, backend: kafka, brokers: 3, replication_factor: 3, writer: sink }";
    let image = format!("{KAFKA_IMAGE}\n    pull: never\n    spread: one_on_each");
    let fault = "repeat: 1, drain: { timeout: 90s } }\nfaults: [{ kill: kafka, replica: 1, at: 2s, restart_after: 1s }]";
    let workspace = study(
        bench,
        "brokers",
        &[
            ("set: { topic: brokers }", set),
            (&format!("{GATEWAY_IMAGE}\n    pull: never"), &image),
            ("scratch: 256MiB", "scratch: 1GiB"),
            ("rate: 60/s", "rate: 20/s"),
            ("measure: 5s", "measure: 10s"),
            ("probes: store", "probes: [broker, database]"),
            ("repeat: 1, drain: { timeout: 60s } }", fault),
        ],
    );
    let image = ingest_image(KAFKA_IMAGE, &["backend=kafka", "writer=sink"]);
    import_image(bench, &workspace, &image);
    let ran = run(bench, &workspace);
    let said = output_text(&ran);
    let model = waggle_analysis::model(&Run::read(&workspace.run_folder()).unwrap());
    check_fault(&said, &model);
    assert_eq!(model.trials[0].info.agents.len(), 3);
    let pods = log(&workspace, "pods.txt");
    let brokers = pods.lines().filter(|line| line.starts_with("kafka-"));
    let mut nodes: Vec<&str> = brokers
        .map(|line| line.split_once("node ").unwrap().1)
        .map(|rest| rest.split_once(',').unwrap().0)
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 3, "{pods}");
    wait_until_empty(bench, "brokers");
}

/// The run ends with a failed trial and these words, and nothing of it is left.
#[track_caller]
fn check_failure(bench: &Bench, workspace: &Workspace, namespace: &str, words: &str) {
    without_agents(workspace);
    check_failed_run(bench, workspace, namespace, words);
}

#[track_caller]
fn check_failed_run(bench: &Bench, workspace: &Workspace, namespace: &str, words: &str) {
    let ran = run(bench, workspace);
    let said = output_text(&ran);
    assert!(said.contains(words), "{words} in {said}");
    assert_ne!(ran.status.code(), Some(0), "{said}");
    wait_until_empty(bench, namespace);
}

/// The runner has an image of its own, which is there.
fn with_runner(bench: &Bench, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
    let runner = format!(
        "runner:\n  kubernetes: {{ image: '{}', pull: never }}\nload:",
        super::bench::IMAGE
    );
    let mut all = vec![("load:", runner.as_str())];
    all.extend(changes);
    study(bench, namespace, &all)
}

#[test]
fn an_image_of_a_system_that_is_not_there_is_named_in_cluster() {
    let bench = bench();
    let changes = [(GATEWAY_IMAGE, "localhost/waggle/none:1")];
    let workspace = with_runner(bench, "no-image", &changes);
    let words = "the node does not get the image localhost/waggle/none:1 (ErrImageNeverPull)";
    check_failure(bench, &workspace, "no-image", words);
}

#[test]
fn a_quota_that_is_too_small_for_a_system_is_named_in_cluster() {
    let bench = bench();
    let changes = [("ready_timeout: 3m", "ready_timeout: 30s")];
    let workspace = with_runner(bench, "no-quota", &changes);
    // The pod of the runner is let in.
    let quota = [
        "create",
        "quota",
        "pods",
        "--hard=pods=1",
        "--namespace=no-quota",
    ];
    bench.cluster.kubectl(&quota);
    check_failure(bench, &workspace, "no-quota", "quota");
}

#[test]
fn a_pod_of_a_system_that_no_node_takes_is_named_in_cluster() {
    let bench = bench();
    let scratch = "scratch: 256MiB\n    node_selector: { test: nowhere }";
    let changes = [
        ("scratch: 256MiB", scratch),
        ("ready_timeout: 3m", "ready_timeout: 30s"),
    ];
    let workspace = with_runner(bench, "no-node", &changes);
    check_failure(bench, &workspace, "no-node", "nodes are available");
}

#[test]
fn a_right_that_a_system_lacks_is_named_in_cluster() {
    let bench = bench();
    let workspace = with_runner(bench, "no-right", &[]);
    let allow = |rule: usize, resource: &str, verbs: &str| {
        let change = format!(
            r#"[{{ "op": "test", "path": "/rules/{rule}/resources/0", "value": "{resource}" }},
                {{ "op": "replace", "path": "/rules/{rule}/verbs", "value": {verbs} }}]"#
        );
        let patch = [
            "patch",
            "role",
            "waggle",
            "--namespace=no-right",
            "--type=json",
            "--patch",
            &change,
        ];
        bench.cluster.kubectl(&patch);
    };
    allow(6, "statefulsets", r#"["delete"]"#);
    let words = "the verb \"create\" for \"statefulsets\" is missing";
    check_failure(bench, &workspace, "no-right", words);
    // Its pods are made, and the runner may not connect to what is in them.
    let image = ingest_image(GATEWAY_IMAGE, &["backend=embedded"]);
    import_image(bench, &workspace, &image);
    allow(6, "statefulsets", r#"["create", "delete"]"#);
    allow(9, "pods/exec", r#"["delete"]"#);
    let words = "the verb \"create\" for \"pods/exec\" is missing";
    check_failed_run(bench, &workspace, "no-right", words);
}
