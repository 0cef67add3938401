//! A Kubernetes cluster with several nodes on this machine: `tests/cluster`, whose scripts do all of it.
//!
//! It needs root and cgroup v1. Where that is missing, or `tests/cluster/fetch` has not been run, a test fails with the reason.

use std::{
    fs,
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;

/// Exit code of `up` if another cluster has the name or the addresses.
const TAKEN: i32 = 3;
const DAY: Duration = Duration::from_secs(86_400);
/// Clusters that tests may have at the same time on one machine.
const CLUSTERS_MAX: u8 = 90;

/// A running cluster, which ends when this is dropped, and a second after this program at the latest. Its nodes are `n1`, `n2`… for the
/// methods here.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    /// Prefix of the nodes' names.
    name: String,
    number: u8,
}

impl Cluster {
    /// Starts one with this many nodes, 1 to 9, and waits until they are ready.
    pub fn start(nodes: u8) -> Self {
        Self::start_for(nodes, std::process::id())
    }

    /// Starts one that ends with the process `owner`.
    pub fn start_for(nodes: u8, owner: u32) -> Self {
        let first =
            u8::try_from(owner % u32::from(CLUSTERS_MAX)).expect("below the number of clusters");
        (0..CLUSTERS_MAX)
            .map(|step| 1 + (first + step) % CLUSTERS_MAX)
            .find_map(|number| Self::start_with(number, nodes, owner))
            .expect("a name and addresses that no other cluster has")
    }

    /// Starts the cluster with this number, which its name and its addresses have; none if they are taken.
    fn start_with(number: u8, nodes: u8, owner: u32) -> Option<Self> {
        let folder = TempDir::with_prefix("cluster-").expect("a folder");
        let cluster = Self {
            folder,
            name: format!("wgl{number}"),
            number,
        };
        let mut up = script("up");
        up.arg(cluster.folder())
            .env("WAGGLE_CLUSTER_NAME", &cluster.name)
            .env("WAGGLE_CLUSTER_NET", format!("10.78.{number}"))
            .env("WAGGLE_CLUSTER_PODS", cluster.pod_network())
            .env("WAGGLE_CLUSTER_NODES", nodes.to_string())
            .env("WAGGLE_CLUSTER_OWNER", owner.to_string());
        let output = output(&mut up);
        if output.status.code() == Some(TAKEN) {
            return None;
        }
        check(&up, &output);
        Some(cluster)
    }

    /// Its folder, with the logs of all services in `log`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file for clients with all rights.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder().join("admin.kubeconfig")
    }

    /// A file for clients with the rights of this service account, by a token of it.
    pub fn account_kubeconfig(&self, namespace: &str, account: &str) -> PathBuf {
        let token = self.kubectl(&["--namespace", namespace, "create", "token", account]);
        let text = format!(
            "apiVersion: v1\nkind: Config\n\
             clusters: [{{ name: cluster, cluster: {{ server: 'https://10.78.{}.1:6443', certificate-authority: {} }} }}]\n\
             users: [{{ name: user, user: {{ token: {} }} }}]\n\
             contexts: [{{ name: context, context: {{ cluster: cluster, user: user, namespace: {namespace} }} }}]\n\
             current-context: context\n",
            self.number,
            self.folder().join("pki/ca.crt").display(),
            token.trim(),
        );
        let file = self
            .folder()
            .join(format!("{namespace}-{account}.kubeconfig"));
        fs::write(&file, text).expect("a kubeconfig");
        file
    }

    /// The name of a node in Kubernetes: that of `n2` for `node_name("n2")`.
    pub fn node_name(&self, node: &str) -> String {
        format!("{}{node}", self.name)
    }

    /// Prefix of the nodes' names, of its groups and of its interface on this machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How far the monotonic clock of a node and of its pods is ahead of this machine's; their date is the same.
    pub fn clock_ahead(node: &str) -> Duration {
        DAY * u32::from(node_number(node))
    }

    /// This machine as pods and nodes see it: a server that listens here is reached by them.
    pub fn host(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, self.number, 254)
    }

    /// A node as this machine, pods and nodes see it, for node ports.
    pub fn node_address(&self, node: &str) -> Ipv4Addr {
        Ipv4Addr::new(10, 78, self.number, 10 + node_number(node))
    }

    /// The first two numbers of all addresses of pods, which are reached from this machine.
    fn pod_network(&self) -> String {
        format!("10.{}", 100 + self.number)
    }

    /// What kubectl prints; panics if it fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let mut kubectl = self.kubectl_command(arguments);
        let output = output(&mut kubectl);
        check(&kubectl, &output)
    }

    /// kubectl with all rights, for what may fail or go on; a `--kubeconfig` among the arguments comes first.
    pub fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut kubectl = Command::new(self.folder().join("kubectl"));
        kubectl.args(arguments);
        kubectl
    }

    /// Applies a manifest, which may have several objects.
    pub fn apply(&self, manifest: &str) {
        let mut kubectl = self.kubectl_command(&["apply", "--filename", "-"]);
        let child = kubectl
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        // If it has ended already, its status says why.
        let _ = stdin.write_all(manifest.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("its output");
        check(&kubectl, &output);
    }

    /// Makes an image of programs of this machine, each `FILE=PATH` or `FILE`, with the libraries that they need, a shell and the usual
    /// commands. A container of it starts the first program.
    pub fn image(&self, name: &str, files: &[&str]) -> PathBuf {
        let file = format!("{}.tar", name.replace(['/', ':'], "-"));
        let image = self.folder().join(file);
        let busybox = cluster_folder().join("bin/busybox");
        let mut script = script("image");
        script
            .arg("--shell")
            .arg(busybox)
            .arg(&image)
            .arg(name)
            .args(files);
        let output = output(&mut script);
        check(&script, &output);
        image
    }

    /// Brings images into every node.
    pub fn import(&self, images: &[&Path]) {
        self.import_into(&[], images);
    }

    /// Brings images into these nodes; none: into every one.
    pub fn import_into(&self, nodes: &[&str], images: &[&Path]) {
        let mut script = script("import");
        script.args(["--nodes", &nodes.join(" ")]);
        script.arg(self.folder()).args(images);
        let output = output(&mut script);
        check(&script, &output);
    }

    /// Lets nodes pull images of a registry of this machine, at an address that they reach, without TLS.
    pub fn allow_registry(&self, registry: SocketAddr) {
        self.run("registry", &[&registry.to_string()]);
    }

    /// What a command in the namespaces of a node, or of the control plane `cp`, prints; panics if it fails.
    pub fn node_command(&self, node: &str, command: &[&str]) -> String {
        self.run("node", &[&[node], command].concat())
    }

    /// `kill`, `stop` or `start` of a service of a node, or of the whole node as service `node`.
    pub fn service(&self, node: &str, service: &str, action: &str) {
        self.run("service", &[node, service, action]);
    }

    /// Puts a node at a distance from all others: `["5ms"]` is the delay in each direction, jitter and the share of lost frames may
    /// follow, and `["off"]` ends it.
    pub fn distance(&self, node: &str, distance: &[&str]) {
        self.run("distance", &[&[node], distance].concat());
    }

    /// Ends it, and panics if something is left.
    pub fn stop(self) {
        let mut down = self.script("down");
        let output = output(&mut down);
        check(&down, &output);
    }

    fn run(&self, name: &str, arguments: &[&str]) -> String {
        let mut script = self.script(name);
        script.args(arguments);
        let output = output(&mut script);
        check(&script, &output)
    }

    fn script(&self, name: &str) -> Command {
        let mut script = script(name);
        script.arg(self.folder());
        script
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // It may be down already.
        let _ = output(&mut self.script("down"));
    }
}

/// What the cluster of this name could leave on this machine: the same text before and after if it leaves nothing.
pub fn snapshot(name: &str) -> String {
    let mut script = script("snapshot");
    script.env("WAGGLE_CLUSTER_NAME", name);
    let output = output(&mut script);
    check(&script, &output)
}

/// 2 for `n2`.
fn node_number(node: &str) -> u8 {
    let number = node
        .strip_prefix('n')
        .and_then(|number| number.parse().ok());
    number.expect("n1, n2…")
}

/// What `tests/cluster/fetch` made.
fn cluster_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("WAGGLE_CLUSTER") {
        return folder.into();
    }
    let mut fetch = script("fetch");
    let output = output(fetch.arg("--folder"));
    check(&fetch, &output).trim().into()
}

/// A script, without settings that somebody has for a cluster of their own.
fn script(name: &str) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster");
    let mut script = Command::new(folder.join(name));
    for setting in ["NAME", "NET", "PODS", "NODES", "EVICT", "OWNER"] {
        script.env_remove(format!("WAGGLE_CLUSTER_{setting}"));
    }
    script
}

fn output(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|why| panic!("{}: {why}", command.get_program().display()))
}

/// The standard output of a command that succeeded; panics with both outputs if it did not.
fn check(command: &Command, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
