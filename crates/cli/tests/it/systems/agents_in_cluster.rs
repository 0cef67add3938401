//! Agents as the pods of an Indexed Job, on a real cluster of three nodes: the load that they make, and each way in which that fails
//! ends in a sentence and an empty namespace.

use std::{
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use waggle_testkit::{Cluster, wait_until};

use crate::workspace::{Workspace, output_text};

const IMAGE: &str = "localhost/waggle/agent:1";
/// A quota that lets two of three agents in, and rights that lack one verb.
const OBJECTS: &str = "
{ apiVersion: v1, kind: Namespace, metadata: { name: load } }
---
{ apiVersion: v1, kind: Namespace, metadata: { name: narrow } }
---
apiVersion: v1
kind: ResourceQuota
metadata: { name: cpus, namespace: narrow }
spec: { hard: { requests.cpu: '2' } }
---
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: reader, namespace: load } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: load }
rules:
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, patch, delete] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: load }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: reader, namespace: load }]
";

/// The null server at the address by which pods reach this machine; it ends with the test.
struct NullServer {
    process: Child,
    url: String,
}

impl NullServer {
    fn start(cluster: &Cluster) -> Self {
        let free = TcpListener::bind((cluster.host(), 0)).unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let mut command = Command::new(env!("CARGO_BIN_EXE_waggle"));
        command.args(["__null-server", &address]);
        let process = command.stdin(Stdio::null()).spawn().unwrap();
        Self {
            process,
            url: format!("http://{address}"),
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

struct Bench {
    cluster: Cluster,
    server: NullServer,
}

impl Bench {
    fn start() -> Self {
        let cluster = Cluster::start(3);
        let folder = tempfile::tempdir().unwrap();
        // Without symbols; it is the same build as the runner.
        let program = folder.path().join("waggle");
        let mut strip = Command::new("strip");
        strip.args(["--strip-debug", "-o"]).arg(&program);
        let stripped = strip.arg(env!("CARGO_BIN_EXE_waggle")).status().unwrap();
        assert!(stripped.success());
        let file = format!("{}=/bin/waggle", program.display());
        let image = cluster.image(IMAGE, &[&file]);
        cluster.import(&[&image]);
        cluster.apply(OBJECTS);
        let server = NullServer::start(&cluster);
        Self { cluster, server }
    }

    /// A folder with a study in which these texts are replaced.
    fn study(&self, changes: &[(&str, &str)]) -> Workspace {
        let (url, host) = (&self.server.url, self.cluster.host());
        let kubeconfig = self.cluster.kubeconfig();
        let mut text = format!(
            "study: pods\nquestion: Do agents on three nodes make one load?\nsystem:\n  url: {url}\nagents:\n  count: 3\n  \
             listen: {host}:0\n  wait: 3m\n  kubernetes:\n    kubeconfig: {}\n    namespace: load\n    image: {IMAGE}\n    pull: never\n    \
             spread: one_on_each\nload:\n  model: open\n  rate: 300/s\n  connections: 6\n  request: {{ name: ask, get: / }}\n\
             schedule: {{ warm_up: 500ms, measure: 2s, interval: 100ms, repeat: 1 }}\n",
            kubeconfig.display()
        );
        for (old, new) in changes {
            assert!(text.contains(old), "{old} in {text}");
            text = text.replace(old, new);
        }
        let workspace = Workspace::new();
        fs::write(workspace.path().join("study.yaml"), text).unwrap();
        workspace
    }

    fn assert_empty(&self, namespace: &str) {
        let kinds = "pods,jobs,secrets,leases.coordination.k8s.io";
        let list = ["get", kinds, "--namespace", namespace, "--output", "name"];
        assert_eq!(self.cluster.kubectl(&list), "");
    }
}

/// waggle in the folder of a study.
fn waggle(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle"));
    let folder = workspace.path();
    command.args(arguments).current_dir(folder);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.stdin(Stdio::null());
    command
}

fn run(workspace: &Workspace) -> Output {
    let mut command = waggle(workspace, &["run", "study.yaml"]);
    command.output().unwrap()
}

/// A run that ends before its first trial, with these words.
fn check_refused(bench: &Bench, namespace: &str, changes: &[(&str, &str)], words: &[&str]) {
    let workspace = bench.study(changes);
    let ran = run(&workspace);
    let said = output_text(&ran);
    for words in words {
        assert!(said.contains(words), "{words:?} in {said}");
    }
    assert_eq!(ran.status.code(), Some(2), "{said}");
    bench.assert_empty(namespace);
}

fn make_one_load(bench: &Bench) {
    // One node is far from the others.
    bench.cluster.distance("n2", &["5ms"]);
    let workspace = bench.study(&[]);
    let ran = run(&workspace);
    bench.cluster.distance("n2", &["off"]);
    let model = workspace.report_of(&ran);
    let trial = &model.trials[0];
    assert_eq!(trial.failure, None, "{}", output_text(&ran));
    let hosts = &model.info.agents;
    let pods = hosts.iter().map(|host| host.pod.as_ref().unwrap());
    let mut nodes: Vec<String> = pods.map(|pod| pod.node_name.clone()).collect();
    let far = bench.cluster.node_name("n2");
    let place = nodes.iter().position(|node| *node == far).unwrap();
    nodes.sort();
    nodes.dedup();
    assert_eq!(nodes.len(), 3);
    for (index, agent) in trial.info.agents.iter().enumerate() {
        assert!(agent.offset_ms.abs() <= agent.offset_bound_ms, "{agent:?}");
        if index == place {
            assert!(agent.offset_bound_ms >= 5.0, "{agent:?}");
        }
    }
    let folder: PathBuf = workspace.run_folder();
    let logs = fs::read_dir(folder.join("agents")).unwrap().count();
    assert_eq!(logs, 4, "three logs and the events");
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(page.contains("Guaranteed"), "{page}");
    bench.assert_empty("load");
}

fn name_what_is_missing(bench: &Bench) {
    check_refused(
        bench,
        "load",
        &[(IMAGE, "localhost/waggle/agent:2")],
        &["0 of 3 pods of waggle-", "agent:2", "ErrImageNeverPull"],
    );
    check_refused(
        bench,
        "narrow",
        &[("namespace: load", "namespace: narrow")],
        &["quota"],
    );
    let limited = bench.cluster.account_kubeconfig("load", "reader");
    let all = bench.cluster.kubeconfig();
    let changes = [(all.to_str().unwrap(), limited.to_str().unwrap())];
    check_refused(
        bench,
        "load",
        &changes,
        &[
            "the verb \"create\" for \"configmaps\" is missing",
            "waggle cluster rbac",
        ],
    );
}

/// A run that was killed leaves a Job, which `waggle system down` removes.
fn remove_what_a_killed_run_left(bench: &Bench) {
    let workspace = bench.study(&[("measure: 2s", "measure: 5m")]);
    let mut command = waggle(&workspace, &["run", "study.yaml"]);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = command.spawn().unwrap();
    let list = ["get", "pods", "--namespace", "load", "--output", "name"];
    wait_until("the agents", || {
        bench.cluster.kubectl(&list).lines().count() == 3
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let down = waggle(&workspace, &["system", "down", "agents"])
        .output()
        .unwrap();
    assert_eq!(down.status.code(), Some(0), "{}", output_text(&down));
    bench.assert_empty("load");
}

fn name_an_agent_whose_node_dies(bench: &Bench) {
    let workspace = bench.study(&[("measure: 2s", "measure: 5m")]);
    let mut command = waggle(&workspace, &["run", "study.yaml"]);
    let lines = workspace.path().join("lines");
    let file = fs::File::create(&lines).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    let mut running = command.spawn().unwrap();
    let has_begun = || fs::read_to_string(&lines).unwrap().contains("measure 5 m");
    wait_until("the measured phase", has_begun);
    bench.cluster.service("n3", "node", "kill");
    let status = running.wait().unwrap();
    let model = workspace.model();
    let reason = &model.trials[0].failure.as_ref().unwrap().reason;
    let words = ["agent ", " of 3 (waggle-pods-"];
    assert!(words.iter().all(|words| reason.contains(words)), "{reason}");
    assert_eq!(status.code(), Some(5), "{reason}");
}

#[test]
fn agents_are_pods_of_a_cluster() {
    let bench = Bench::start();
    make_one_load(&bench);
    name_what_is_missing(&bench);
    remove_what_a_killed_run_left(&bench);
    name_an_agent_whose_node_dies(&bench);
    drop(bench.server);
    bench.cluster.stop();
}
