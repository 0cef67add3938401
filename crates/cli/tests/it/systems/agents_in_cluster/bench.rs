//! The cluster that all tests of this program share: its images and namespaces, and studies of agents in it.
//!
//! It ends with the program. Its folder, which is removed then, has all other files too.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process};
use waggle_load::NullServer;
use waggle_testkit::{Cluster, http, wait_until};

use crate::{
    systems::gateway,
    workspace::{Workspace, output_text},
};

/// The clock of agent 2 is wrong if the study is named so.
pub(super) const WRONG_CLOCK: &str = "wrong-clock";
pub(super) const IMAGE: &str = "localhost/waggle/agent:1";
const GATEWAY: &str = "
{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: gateway, namespace: shop }
spec:
  selector: { matchLabels: { app: gateway } }
  template:
    metadata: { labels: { app: gateway } }
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: { topology.kubernetes.io/zone: zone-1 }
      containers:
        - name: gateway
          image: localhost/waggle/gateway:1
          imagePullPolicy: Never
          args: [serve, '--listen=0.0.0.0:8080', --insecure, '--workers=1', '--store=/tmp/store.db']
          readinessProbe: { httpGet: { path: /readyz, port: 8080 }, periodSeconds: 1 }
---
apiVersion: v1
kind: Service
metadata: { name: gateway, namespace: shop }
spec: { type: NodePort, selector: { app: gateway }, ports: [{ port: 80, targetPort: 8080 }] }
";
pub(super) const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Held by a test that has the fourth node to itself.
static FOURTH: Mutex<()> = Mutex::new(());
static BENCH: LazyLock<Bench> = LazyLock::new(Bench::start);

/// The bench, which the first test starts.
pub(super) fn bench() -> &'static Bench {
    &BENCH
}

pub(super) struct Bench {
    pub(super) cluster: Cluster,
    /// As it is in the images, without symbols.
    program: PathBuf,
    server: NullServer,
    /// The Deployment, by a port of the first node.
    gateway: SocketAddr,
}

impl Bench {
    fn start() -> Self {
        gateway();
        let cluster = Cluster::start(4);
        set_apart(&cluster);
        let program = cluster.folder().join("waggle");
        let mut strip = Command::new("strip");
        strip.args(["--strip-all", "-o"]).arg(&program);
        let stripped = strip.arg(env!("CARGO_BIN_EXE_waggle")).status().unwrap();
        assert!(stripped.success());
        let launch = compile("launch.c", &[], &cluster.folder().join("launch"));
        let library = cluster.folder().join("wrong_clock.so");
        let library = compile("wrong_clock.c", &["-shared", "-fPIC"], &library);
        let agent = cluster.image(
            IMAGE,
            &[
                &format!("{launch}=/bin/waggle"),
                &format!("{}=/bin/waggle-agent", program.display()),
                &format!("{library}=/lib/wrong_clock.so"),
            ],
        );
        let gateway = Path::new(env!("CARGO_BIN_EXE_waggle")).with_file_name("waggle-gateway");
        let gateway = cluster.image(
            "localhost/waggle/gateway:1",
            &[&gateway.display().to_string()],
        );
        cluster.import(&[&agent, &gateway]);
        cluster.apply(GATEWAY);
        let server = NullServer::start((cluster.host(), 0).into(), ANSWER).unwrap();
        Self {
            gateway: gateway_address(&cluster),
            cluster,
            program,
            server,
        }
    }

    /// Node 4, which this test alone may end, start or drain until the guard is dropped; it is ready.
    pub(super) fn take_fourth_node(&self) -> MutexGuard<'static, ()> {
        let guard = FOURTH.lock().unwrap_or_else(PoisonError::into_inner);
        // The test before may have failed.
        self.start_fourth_node();
        guard
    }

    /// Returns when node 4 is ready.
    pub(super) fn start_fourth_node(&self) {
        self.cluster.service("n4", "node", "start");
        let node = format!("node/{}", self.cluster.node_name("n4"));
        let wait = ["wait", "--for=condition=Ready", &node, "--timeout=180s"];
        self.cluster.kubectl(&wait);
    }

    /// The gateway without symbols, beside the program.
    pub(super) fn strip_gateway(&self) {
        let gateway = Path::new(env!("CARGO_BIN_EXE_waggle")).with_file_name("waggle-gateway");
        let stripped = self.program.with_file_name("waggle-gateway");
        let mut strip = Command::new("strip");
        let status = strip.args(["--strip-all", "-o"]).arg(stripped).arg(gateway);
        assert!(status.status().unwrap().success());
    }

    /// A new one; its name is that of a test.
    pub(super) fn namespace(&self, name: &str) {
        self.cluster.kubectl(&["create", "namespace", name]);
    }

    /// Where the Deployment answers.
    pub(super) fn gateway_address(&self) -> SocketAddr {
        self.gateway
    }

    /// Of the server that answers at once, whatever it is asked.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// A folder with a study of three agents in this namespace, in which these texts are replaced. The system is a server by its URL.
    pub(super) fn study(&self, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
        let (url, host) = (self.url(), self.cluster.host());
        let kubeconfig = self.cluster.kubeconfig();
        let mut text = format!(
            "study: pods\nquestion: Do agents on three nodes make one load?\nsystem:\n  url: {url}\nagents:\n  count: 3\n  \
             listen: {host}:0\n  wait: 3m\n  kubernetes:\n    kubeconfig: {}\n    namespace: {namespace}\n    image: {IMAGE}\n    pull: never\n    \
             spread: one_on_each\nload:\n  model: open\n  rate: 300/s\n  connections: 6\n  request: {{ name: ask, get: / }}\n\
             schedule: {{ quiet_timeout: 0s, warm_up: 500ms, measure: 2s, interval: 100ms, repeat: 1 }}\n",
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

    /// The same with records for the gateway, each of which is looked for.
    pub(super) fn study_of_records(&self, namespace: &str, changes: &[(&str, &str)]) -> Workspace {
        let url = format!("url: {}", self.url());
        let system = format!(
            "use: ingest\n  set: {{ topic: {namespace} }}\n  external: {{ gateway: {{ http: '{}' }} }}",
            self.gateway
        );
        let request = format!(
            "request:\n    name: put-readings\n    put: /api/v1/topics/{namespace}/records\n    endpoint: records\n    \
             records: {{ file: readings.lp }}\n    expect: {{ status: 204 }}"
        );
        let delivery = "repeat: 1, drain: { timeout: 60s } }\ndelivery: { probes: store, poll_interval: 50ms }";
        let mut all = vec![
            (url.as_str(), system.as_str()),
            ("request: { name: ask, get: / }", &request),
            ("repeat: 1 }", delivery),
        ];
        all.extend(changes);
        let workspace = self.study(namespace, &all);
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let systems = fs::canonicalize(project.join("systems/ingest")).unwrap();
        symlink(systems, workspace.path().join("systems/ingest")).unwrap();
        workspace
    }

    /// The program of the images, in the folder of a study.
    pub(super) fn waggle(&self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let folder = workspace.path();
        command.args(arguments).current_dir(folder);
        command.env("XDG_STATE_HOME", folder.join("state"));
        command.env("XDG_CACHE_HOME", folder.join("cache"));
        command.stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, workspace: &Workspace) -> Output {
        let mut command = self.waggle(workspace, &["run", "study.yaml"]);
        command.output().unwrap()
    }

    /// A run that ends before its first trial, with these words and nothing left.
    #[track_caller]
    pub(super) fn check_refused(&self, namespace: &str, changes: &[(&str, &str)], words: &[&str]) {
        let workspace = self.study(namespace, changes);
        let ran = self.run(&workspace);
        let said = output_text(&ran);
        for words in words {
            assert!(said.contains(words), "{words:?} in {said}");
        }
        assert_eq!(ran.status.code(), Some(2), "{said}");
        self.assert_empty(namespace);
    }

    #[track_caller]
    pub(super) fn assert_empty(&self, namespace: &str) {
        assert_eq!(self.objects(namespace), "");
    }

    /// What runs have made in a namespace.
    pub(super) fn objects(&self, namespace: &str) -> String {
        let kinds = "pods,jobs,secrets,leases.coordination.k8s.io,configmaps";
        let made = "--selector=app.kubernetes.io/managed-by=waggle";
        let list = [
            "get",
            kinds,
            "--namespace",
            namespace,
            made,
            "--output",
            "name",
        ];
        let objects = self.cluster.kubectl(&list);
        let list = ["get", "pods", "--namespace", namespace, "--output", "name"];
        objects + &self.cluster.kubectl(&list)
    }

    /// What is sent through a node to this address meets this target of iptables: `REJECT`, `DROP`.
    pub(super) fn block(&self, node: &str, address: SocketAddr, target: &str) {
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let rule = ["-d", &host, "-p", "tcp", "--dport", &port, "-j", target];
        let insert = [&["iptables", "-I", "FORWARD"], &rule[..]].concat();
        self.cluster.node_command(node, &insert);
    }

    /// An address at which a run can take its agents in.
    pub(super) fn free_address(&self) -> SocketAddr {
        let free = TcpListener::bind((self.cluster.host(), 0)).unwrap();
        free.local_addr().unwrap()
    }
}

/// A run of which the lines are kept, and which is killed with the test.
pub(super) struct Running {
    child: Child,
    lines: PathBuf,
}

impl Running {
    pub(super) fn start(bench: &Bench, workspace: &Workspace) -> Self {
        Self::start_command(bench.waggle(workspace, &["run", "study.yaml"]), workspace)
    }

    pub(super) fn start_command(mut command: Command, workspace: &Workspace) -> Self {
        let lines = workspace.path().join("lines");
        let file = fs::File::create(&lines).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.spawn().unwrap();
        Self { child, lines }
    }

    pub(super) fn text(&self) -> String {
        fs::read_to_string(&self.lines).unwrap()
    }

    #[track_caller]
    pub(super) fn wait_for(&mut self, words: &str) {
        wait_until(words, || {
            let has_ended = self.child.try_wait().unwrap().is_some();
            let said = self.text();
            assert!(!has_ended || said.contains(words), "{words:?} in {said}");
            said.contains(words)
        });
    }

    pub(super) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(super) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended unless the test has failed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// No run gets node 4 but one that asks for nodes of which one dies.
fn set_apart(cluster: &Cluster) {
    let [second, third, fourth] = ["n2", "n3", "n4"].map(|node| cluster.node_name(node));
    let label = ["label", "nodes", &second, &third, &fourth, "test=node-dies"];
    cluster.kubectl(&label);
    cluster.kubectl(&["label", "nodes", &fourth, "place=fourth"]);
    cluster.kubectl(&["taint", "nodes", &fourth, "test=node-dies:NoSchedule"]);
}

/// Compiles a file of `tests/clock`.
fn compile(source: &str, options: &[&str], to: &Path) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clock")
        .join(source);
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(to).args(options).arg(source);
    assert!(cc.status().unwrap().success());
    to.display().to_string()
}

/// Where the gateway answers.
fn gateway_address(cluster: &Cluster) -> SocketAddr {
    let deployment = "deployment/gateway";
    let rollout = ["--namespace", "shop", "rollout", "status", deployment];
    cluster.kubectl(&[&rollout[..], &["--timeout=180s"]].concat());
    let port = "jsonpath={.spec.ports[0].nodePort}";
    let service = ["--namespace", "shop", "get", "service", "gateway"];
    let port = cluster.kubectl(&[&service[..], &["--output", port]].concat());
    let node = cluster.node_address("n1");
    let address = SocketAddr::new(node.into(), port.parse().unwrap());
    // A pod may be ready before a node knows its service.
    wait_until("the gateway answers", || {
        http::get(address, "/readyz").is_ok_and(|answer| answer.status == 200)
    });
    address
}
