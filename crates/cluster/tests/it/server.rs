//! An API server over etcd, shared by the tests of this program, each in a namespace of its own.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use http::{Method, Request};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use waggle_cluster::{Access, Ledger, Place};
use waggle_testkit::{Process, free_port, program, server_folder, tls::Authority};

const ADMIN_TOKEN: &str = "token-of-the-admin";
/// How soon the tests' controllers notice a deletion.
const CONTROLLERS_POLL: Duration = Duration::from_millis(50);

static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

/// The servers, and the files with which they are reached.
struct Server {
    folder: TempDir,
    address: SocketAddr,
    _etcd: Process,
    _apiserver: Process,
}

/// A namespace of the server, for one test.
pub(crate) struct Lab {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Of its runs: no two tests have the same.
    pub(crate) run: String,
    pub(crate) notes: TempDir,
    controllers: JoinHandle<()>,
}

impl Server {
    fn start() -> Self {
        let folder = server_folder("apiserver-");
        let (etcd, etcd_url) = start_etcd(&folder);
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let authority = Authority::new("cluster");
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::write(&file, text).expect("a file of the API server");
            file.display().to_string()
        };
        let serving = authority.sign("127.0.0.1", 2090);
        let accounts = authority.sign("service-accounts", 2090);
        write("ca.pem", &authority.pem);
        let tokens = format!("{ADMIN_TOKEN},admin,admin,\"system:masters\"\n");
        let accounts_certificate = write("accounts.pem", &accounts.certificate);
        let options = [
            program("kubernetes", "kube-apiserver")
                .display()
                .to_string(),
            format!("--etcd-servers={etcd_url}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", address.port()),
            "--advertise-address=127.0.0.1".into(),
            "--endpoint-reconciler-type=none".into(),
            format!(
                "--tls-cert-file={}",
                write("server.pem", &serving.certificate)
            ),
            format!(
                "--tls-private-key-file={}",
                write("server.key", &serving.key)
            ),
            format!("--cert-dir={}", folder.path().display()),
            format!("--token-auth-file={}", write("tokens.csv", &tokens)),
            "--authorization-mode=RBAC".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            format!("--service-account-key-file={accounts_certificate}"),
            format!(
                "--service-account-signing-key-file={}",
                write("accounts.key", &accounts.key)
            ),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            // Nobody makes the account of each namespace.
            "--disable-admission-plugins=ServiceAccount".into(),
            "--profiling=false".into(),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let mut apiserver = Process::start("apiserver", folder.path(), &options, &[]);
        apiserver.wait_for(address);
        let server = Self {
            folder,
            address,
            _etcd: etcd,
            _apiserver: apiserver,
        };
        server.write_kubeconfig("admin", ADMIN_TOKEN);
        server
    }

    /// Writes a kubeconfig with this token, whose context has the name of the user.
    fn write_kubeconfig(&self, user: &str, token: &str) -> PathBuf {
        let file = self.folder.path().join(format!("{user}.kubeconfig"));
        let text = self.kubeconfig(user, &json!({ "token": token }));
        fs::write(&file, text).expect("a kubeconfig");
        file
    }

    /// The text of a kubeconfig with this user.
    fn kubeconfig(&self, name: &str, user: &Value) -> String {
        let server = format!("https://{}", self.address);
        let ca = self.folder.path().join("ca.pem");
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "lab", "cluster": { "server": server, "certificate-authority": ca } }],
            "users": [{ "name": name, "user": user }],
            "contexts": [{ "name": name, "context": { "cluster": "lab", "user": name } }],
            "current-context": name,
        })
        .to_string()
    }
}

fn start_etcd(folder: &TempDir) -> (Process, String) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let url = format!("http://{address}");
    let peer = format!("http://127.0.0.1:{}", free_port());
    let options = [
        program("etcd", "kubernetes-etcd").display().to_string(),
        format!("--data-dir={}", folder.path().join("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".into(),
        "--log-level=warn".into(),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut etcd = Process::start("etcd", folder.path(), &options, &[]);
    etcd.wait_for(address);
    (etcd, url)
}

impl Lab {
    /// A namespace whose name begins with this word.
    pub(crate) async fn new(word: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{word}-{number}");
        let client = client().await;
        let controllers = tokio::spawn(finish_deletions(client.clone(), namespace.clone()));
        let lab = Self {
            client,
            run: format!("run{number}"),
            notes: TempDir::with_prefix("notes-").expect("a folder"),
            controllers,
            namespace,
        };
        let manifest = json!({ "metadata": { "name": lab.namespace } });
        lab.request(Method::POST, "/api/v1/namespaces", &manifest)
            .await;
        lab
    }

    pub(crate) fn admin_kubeconfig() -> PathBuf {
        SERVER.folder.path().join("admin.kubeconfig")
    }

    pub(crate) fn kubeconfig(name: &str, user: &Value) -> String {
        SERVER.kubeconfig(name, user)
    }

    /// By the administrator.
    pub(crate) async fn access(&self) -> Access {
        let access = Access::load(Some(&Self::admin_kubeconfig()), None).await;
        access.expect("the server is there")
    }

    /// By a token.
    pub(crate) async fn access_with(&self, user: &str, token: &str) -> Access {
        let user = format!("{user}-{}", self.namespace);
        let file = SERVER.write_kubeconfig(&user, token);
        Access::load(Some(&file), None)
            .await
            .expect("the server is there")
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            folder: self.notes.path().join("clusters"),
            system: "shop".into(),
        }
    }

    /// Of the administrator.
    pub(crate) async fn ledger(&self) -> Ledger {
        Ledger::new(self.access().await, Some(&self.place()), &self.run)
    }

    /// Paths within the namespace begin without a slash: `pods`, `batch/v1/jobs`.
    pub(crate) fn path(&self, path: &str) -> String {
        match path.rsplit_once("/v1/") {
            _ if path.starts_with('/') => path.to_owned(),
            Some((group, rest)) => {
                format!("/apis/{group}/v1/namespaces/{}/{rest}", self.namespace)
            }
            None => format!("/api/v1/namespaces/{}/{path}", self.namespace),
        }
    }

    pub(crate) async fn request(&self, method: Method, path: &str, body: &Value) -> Value {
        let answer = self.try_request(method, path, body).await;
        answer.unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    pub(crate) async fn try_request(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        request(&self.client, method, &self.path(path), body).await
    }

    /// The names of all objects of a resource in the namespace.
    pub(crate) async fn names(&self, path: &str) -> Vec<String> {
        let list = self.request(Method::GET, path, &Value::Null).await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |item: &Value| {
            item["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        items.iter().map(name).collect()
    }

    /// Makes a pod of a Job, as its controller does, with the state that a kubelet or the scheduler writes.
    pub(crate) async fn pod(&self, job: &str, index: u32, status: Value) {
        let name = format!("{job}-{index}");
        let manifest = json!({
            "metadata": {
                "name": name,
                "labels": {
                    "batch.kubernetes.io/job-name": job,
                    "batch.kubernetes.io/job-completion-index": index.to_string(),
                },
            },
            "spec": { "containers": [{ "name": "waggle", "image": "lab/waggle:1" }] },
        });
        self.request(Method::POST, "pods", &manifest).await;
        self.set_status(&format!("pods/{name}"), status).await;
    }

    pub(crate) async fn set_status(&self, path: &str, status: Value) {
        let path = format!("{}/status", self.path(path));
        let patch = json!({ "status": status });
        self.request(Method::PATCH, &path, &patch).await;
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

/// A client of the administrator, when the server answers.
async fn client() -> Client {
    // The first test waits for the start.
    let file = tokio::task::spawn_blocking(Lab::admin_kubeconfig).await;
    let kubeconfig = Kubeconfig::read_from(file.expect("the servers start")).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.expect("a context")).expect("a client");
    for _ in 0..6000 {
        let readiness = Request::get("/readyz").body(Vec::new()).expect("a request");
        if client.request_text(readiness).await.is_ok() {
            return client;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the API server did not become ready");
}

async fn request(
    client: &Client,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let content = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(body.into_bytes())
        .expect("a request");
    client.request(request).await
}

/// Does what the controllers of a cluster do with what is being deleted: Jobs and sets lose their pods, namespaces what is in them.
async fn finish_deletions(client: Client, word: String) {
    loop {
        tokio::time::sleep(CONTROLLERS_POLL).await;
        // Anything may be gone meanwhile.
        for resource in ["batch/v1|jobs", "apps/v1|statefulsets"] {
            let _ = finish_workloads(&client, &word, resource).await;
        }
        let _ = finish_namespaces(&client, &word).await;
    }
}

/// `resource`: group with version, and its name.
async fn finish_workloads(
    client: &Client,
    namespace: &str,
    resource: &str,
) -> Result<(), kube::Error> {
    let (group, resource) = resource.split_once('|').unwrap_or_default();
    let path = format!("/apis/{group}/namespaces/{namespace}/{resource}");
    let list = request(client, Method::GET, &path, &Value::Null).await?;
    for workload in list["items"].as_array().into_iter().flatten() {
        let metadata = &workload["metadata"];
        if metadata["deletionTimestamp"].is_null() {
            continue;
        }
        let path = format!("{path}/{}", metadata["name"].as_str().unwrap_or_default());
        let patch = json!({ "metadata": { "finalizers": null } });
        request(client, Method::PATCH, &path, &patch).await?;
    }
    Ok(())
}

/// Of the test: their names begin alike.
async fn finish_namespaces(client: &Client, word: &str) -> Result<(), kube::Error> {
    let list = request(client, Method::GET, "/api/v1/namespaces", &Value::Null).await?;
    for namespace in list["items"].as_array().into_iter().flatten() {
        let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
        if namespace["metadata"]["deletionTimestamp"].is_null() || !name.starts_with(word) {
            continue;
        }
        for resource in [
            "api/v1|configmaps",
            "api/v1|secrets",
            "apis/coordination.k8s.io/v1|leases",
        ] {
            let (root, resource) = resource.split_once('|').unwrap_or_default();
            let path = format!("/{root}/namespaces/{name}/{resource}");
            request(client, Method::DELETE, &path, &Value::Null).await?;
        }
        let path = format!("/api/v1/namespaces/{name}/finalize");
        let mut final_form = namespace.clone();
        final_form["apiVersion"] = json!("v1");
        final_form["kind"] = json!("Namespace");
        final_form["spec"]["finalizers"] = json!([]);
        request(client, Method::PUT, &path, &final_form).await?;
    }
    Ok(())
}
