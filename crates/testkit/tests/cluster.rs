//! The cluster of tests: pods on all nodes, faults, distance, rights, and nothing left afterwards.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    process::{Child, Output, Stdio},
    thread,
};

use tempfile::TempDir;
use waggle_testkit::{
    Cluster, DEADLINE, Process, cluster::snapshot, try_for, wait_for, wait_until,
};

/// One pod of the box on each node.
const BOXES: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: box }
spec:
  replicas: 3
  selector: { matchLabels: { app: box } }
  template:
    metadata: { labels: { app: box } }
    spec:
      terminationGracePeriodSeconds: 0
      topologySpreadConstraints:
        - { maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: { matchLabels: { app: box } } }
      containers: [{ name: box, image: 'localhost/waggle/box:1', command: [sleep, '1000000'] }]
";
/// One pod on each node, which says its index, and that a changed clock is seen.
const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: { name: each }
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  backoffLimit: 0
  template:
    metadata: { labels: { app: each } }
    spec:
      restartPolicy: Never
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - { topologyKey: kubernetes.io/hostname, labelSelector: { matchLabels: { app: each } } }
      containers:
        - name: box
          image: localhost/waggle/box:1
          command: [sh, -c, 'echo index=$JOB_COMPLETION_INDEX year=$(LD_PRELOAD=/usr/lib/libfaketime.so.1 /usr/bin/date +%Y)']
          env: [{ name: FAKETIME, value: '@2001-01-01 00:00:00' }]
";
const RIGHTS: &str = "
{ apiVersion: v1, kind: Namespace, metadata: { name: study } }
---
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: runner, namespace: study } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: runner, namespace: study }
rules: [{ apiGroups: [''], resources: [pods], verbs: [list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: runner, namespace: study }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner }
subjects: [{ kind: ServiceAccount, name: runner, namespace: study }]
";
const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// No cluster has this name.
const NO_CLUSTER: &str = "none";

#[test]
fn pods_run_on_three_nodes_with_distance_rights_and_faults_and_nothing_is_left() {
    let before = snapshot(NO_CLUSTER);
    let cluster = Cluster::start(3);
    cluster.apply(BOXES);
    cluster.apply(JOB);
    cluster.kubectl(&["rollout", "status", "deployment/box", "--timeout=180s"]);
    cluster.kubectl(&[
        "wait",
        "--for=condition=complete",
        "job/each",
        "--timeout=180s",
    ]);
    assert_eq!(
        nodes_with(&cluster, "app=box"),
        NODES.map(|node| cluster.node_name(node))
    );
    indexed_pods_ran(&cluster);
    pods_and_host_reach_each_other(&cluster);
    pings_take_the_distance(&cluster);
    an_image_of_programs_runs(&cluster);
    rights_end_with_the_namespace(&cluster);
    killed_ones_are_seen_and_come_back(&cluster);
    let (name, folder) = (cluster.name().to_owned(), cluster.folder().to_owned());
    cluster.stop();
    nothing_is_left(&before, &name, &folder);
}

#[test]
fn a_cluster_ends_when_its_owner_is_killed() {
    let before = snapshot(NO_CLUSTER);
    let folder = TempDir::new().unwrap();
    let mut owner = Process::start("owner", folder.path(), &["sleep", "1000000"], &[]);
    let cluster = Cluster::start_for(1, owner.pid());
    cluster.distance("n1", &["1ms"]);
    owner.kill();
    nothing_is_left(&before, cluster.name(), cluster.folder());
    wait_until("its folder is removed", || !cluster.folder().exists());
}

/// The nodes of pods with this label, in order.
fn nodes_with(cluster: &Cluster, label: &str) -> Vec<String> {
    let nodes = pods(cluster, label, "{.spec.nodeName}");
    let mut nodes: Vec<String> = nodes.into_iter().collect();
    nodes.sort();
    nodes
}

/// A value of each pod with this label.
fn pods(cluster: &Cluster, label: &str, value: &str) -> Vec<String> {
    let path = format!("jsonpath={{range .items[*]}}{value}{{'\\n'}}{{end}}");
    let text = cluster.kubectl(&["get", "pods", "--selector", label, "--output", &path]);
    text.lines().map(str::to_owned).collect()
}

fn indexed_pods_ran(cluster: &Cluster) {
    assert_eq!(
        nodes_with(cluster, "app=each"),
        NODES.map(|node| cluster.node_name(node))
    );
    let logs = cluster.kubectl(&["logs", "--selector", "app=each"]);
    let mut lines: Vec<&str> = logs.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "index=0 year=2001",
            "index=1 year=2001",
            "index=2 year=2001"
        ]
    );
}

/// Both ways by address: a server of a pod, and one of this machine.
fn pods_and_host_reach_each_other(cluster: &Cluster) {
    let pod = pod_on(cluster, "n3");
    let listener = TcpListener::bind((cluster.host(), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answering = thread::spawn(move || {
        listener
            .accept()
            .unwrap()
            .0
            .write_all(b"from the host")
            .unwrap()
    });
    let heard = exec(
        cluster,
        &pod.name,
        &format!("nc {} {}", address.ip(), address.port()),
    );
    assert_eq!(heard, "from the host");
    answering.join().unwrap();

    let serving = background(
        cluster,
        &[
            "exec",
            &pod.name,
            "--",
            "sh",
            "-c",
            "echo from the pod | nc -l -p 8080",
        ],
    );
    let heard = wait_for("the pod's server answers", || {
        let mut text = String::new();
        let mut stream = std::net::TcpStream::connect((pod.address.as_str(), 8080)).ok()?;
        stream.read_to_string(&mut text).ok().map(|_| text)
    });
    assert_eq!(heard, "from the pod\n");
    end(serving);
}

struct Pod {
    name: String,
    address: String,
}

/// The box of a node.
fn pod_on(cluster: &Cluster, node: &str) -> Pod {
    let pods = pods(
        cluster,
        "app=box",
        "{.spec.nodeName} {.metadata.name} {.status.podIP}",
    );
    let line = pods
        .iter()
        .find(|line| line.starts_with(&cluster.node_name(node)))
        .unwrap();
    let mut words = line.split(' ').skip(1).map(str::to_owned);
    Pod {
        name: words.next().unwrap(),
        address: words.next().unwrap(),
    }
}

fn exec(cluster: &Cluster, pod: &str, command: &str) -> String {
    cluster.kubectl(&["exec", pod, "--", "sh", "-c", command])
}

fn background(cluster: &Cluster, arguments: &[&str]) -> Child {
    let mut kubectl = cluster.kubectl_command(arguments);
    kubectl
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    kubectl.spawn().unwrap()
}

fn end(mut child: Child) {
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
}

/// A round trip crosses the distance twice.
fn pings_take_the_distance(cluster: &Cluster) {
    let (near, far) = (pod_on(cluster, "n1"), pod_on(cluster, "n2"));
    cluster.distance("n2", &["5ms"]);
    assert!(fastest_ping(cluster, &near, &far) >= 10.0);
    cluster.distance("n2", &["20ms", "1ms"]);
    assert!(fastest_ping(cluster, &near, &far) >= 40.0);
    cluster.distance("n2", &["off"]);
    exec(
        cluster,
        &near.name,
        &format!("ping -c 1 -w 60 {}", far.address),
    );
}

/// In milliseconds, of three.
fn fastest_ping(cluster: &Cluster, from: &Pod, to: &Pod) -> f64 {
    let text = exec(
        cluster,
        &from.name,
        &format!("ping -c 3 -w 60 {}", to.address),
    );
    let (_, times) = text.split_once("min/avg/max = ").unwrap();
    times.split('/').next().unwrap().parse().unwrap()
}

/// `env` of this machine needs its shared libraries.
fn an_image_of_programs_runs(cluster: &Cluster) {
    let image = cluster.image("localhost/waggle/env:1", &["/usr/bin/env"]);
    cluster.import(&[&image]);
    cluster.kubectl(&[
        "run",
        "env",
        "--image=localhost/waggle/env:1",
        "--restart=Never",
        "--env=GREETING=hello",
    ]);
    let phase = "jsonpath={.status.phase}=Succeeded";
    cluster.kubectl(&[
        "wait",
        "pod/env",
        &format!("--for={phase}"),
        "--timeout=180s",
    ]);
    let variables = cluster.kubectl(&["logs", "env"]);
    assert!(
        variables.lines().any(|line| line == "GREETING=hello"),
        "{variables}"
    );
}

fn rights_end_with_the_namespace(cluster: &Cluster) {
    cluster.apply(RIGHTS);
    let kubeconfig = cluster.account_kubeconfig("study", "runner");
    let list = |namespace: &str| -> Output {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let mut kubectl =
            cluster.kubectl_command(&["get", "pods", &kubeconfig, "--namespace", namespace]);
        kubectl.stdin(Stdio::null()).output().unwrap()
    };
    let allowed = list("study");
    assert!(allowed.status.success(), "{allowed:?}");
    let refused = list("default");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("(Forbidden)"),
        "{refused:?}"
    );
}

fn killed_ones_are_seen_and_come_back(cluster: &Cluster) {
    let pod = pod_on(cluster, "n2");
    cluster.service("n2", "node", "kill");
    cluster.service("n1", "kubelet", "kill");
    for node in ["n2", "n1"] {
        wait_for_state(cluster, node, "Unknown");
    }
    cluster.service("n2", "node", "start");
    cluster.service("n1", "kubelet", "start");
    for node in ["n2", "n1"] {
        wait_for_state(cluster, node, "True");
    }
    wait_until("the pod of the node runs again", || {
        let mut kubectl = cluster.kubectl_command(&["exec", &pod.name, "--", "true"]);
        kubectl
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .status
            .success()
    });
}

fn wait_for_state(cluster: &Cluster, node: &str, state: &str) {
    let path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    wait_until(&format!("{node} is ready: {state}"), || {
        cluster.kubectl(&["get", "node", &cluster.node_name(node), "--output", path]) == state
    });
}

/// Neither processes nor mounts, interfaces, routes, groups, rules or settings of this machine.
fn nothing_is_left(before: &str, name: &str, folder: &Path) {
    // The kernel removes a network namespace some time after its last process.
    let mut after = String::new();
    let is_same = try_for(DEADLINE, || {
        after = snapshot(name);
        (after == before).then_some(())
    });
    assert!(is_same.is_some(), "before:\n{before}\nafter:\n{after}");
    wait_until("no process uses its folder", || {
        processes_with(folder).is_empty()
    });
}

/// Command lines with this path.
fn processes_with(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|process| fs::read(process.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(folder))
        .collect()
}
