//! Kubeconfigs, and every mistake in them.

use crate::{Address, ExternalTls, Kubeconfig, Pem, Problem, Source, Values};

use super::Cluster;

/// `Q0E=` is `CA`, `Q0VSVA==` `CERT`, `S0VZ` `KEY`.
const FILE: &str = "apiVersion: v1
kind: Config
current-context: lab
preferences: {}
clusters:
  - name: lab
    cluster: { server: \"https://10.0.0.5:6443\", certificate-authority: pki/ca.pem, tls-server-name: kubernetes }
  - name: cloud
    cluster: { server: \"https://api.cloud.test\", certificate-authority-data: Q0E= }
  - name: proxy
    cluster: { server: \"http://127.0.0.1:8001\" }
contexts:
  - { name: lab, context: { cluster: lab, user: token, namespace: default } }
  - { name: cloud, context: { cluster: cloud, user: certificate } }
  - { name: files, context: { cluster: lab, user: files } }
  - { name: basic, context: { cluster: lab, user: basic } }
  - { name: nobody, context: { cluster: proxy, user: \"\" } }
users:
  - { name: token, user: { token: abc.def-1 } }
  - name: certificate
    user: { client-certificate-data: Q0VSVA==, client-key-data: S0VZ }
  - name: files
    user: { client-certificate: me.pem, client-key: /keys/me.pem, tokenFile: token }
  - { name: basic, user: { username: me, password: \"1:2\" } }
";

fn read(text: &str, file: &str, context: Option<&str>) -> Result<Cluster, Problem> {
    let given = Kubeconfig {
        file: file.to_owned(),
        context: context.map(str::to_owned),
        component: "api".to_owned(),
        port: "https".to_owned(),
        endpoints: Vec::new(),
        at: (1, 1),
    };
    let variable = |name: &str| match name {
        "HOME" => Some("/h".to_owned()),
        "KUBECONFIG" => Some("kube/config".to_owned()),
        "SEVERAL" => Some("a:b".to_owned()),
        _ => None,
    };
    let files = |name: &str| {
        let text = match name {
            "kube/config" | "/h/.kube/config" => text,
            "kube/token" => "of-a-file\n",
            _ => return Err(Problem(format!("cannot read {name}: it is not there"))),
        };
        Ok(Source {
            name: name.to_owned(),
            text: text.to_owned(),
        })
    };
    given.read(Values {
        variable: &variable,
        file: &files,
    })
}

fn file(name: &str) -> Pem {
    Pem::File(name.to_owned())
}

fn text(text: &str) -> Pem {
    Pem::Text(text.as_bytes().to_vec())
}

#[test]
fn a_context_says_where_the_server_is_whom_to_trust_and_who_one_is() {
    let check = |context: Option<&str>, address: &str, tls: Option<ExternalTls>, identity: &str| {
        let cluster = read(FILE, "kube/config", context).unwrap();
        assert_eq!(cluster.server.to_string(), address);
        assert_eq!(cluster.tls, tls);
        let value = cluster.authorization.as_ref();
        assert_eq!(value.map_or("", |identity| &identity.value), identity);
        let secret = identity.split_once(' ').map(|(_, secret)| secret);
        let shown = format!("{cluster:?}");
        assert!(secret.is_none_or(|secret| !shown.contains(secret)));
    };
    let lab = |client| {
        Some(ExternalTls {
            ca: Some(file("kube/pki/ca.pem")),
            server_name: Some("kubernetes".to_owned()),
            client,
            ..ExternalTls::default()
        })
    };
    check(None, "10.0.0.5:6443", lab(None), "Bearer abc.def-1");
    let cloud = ExternalTls {
        ca: Some(text("CA")),
        client: Some((text("CERT"), text("KEY"))),
        ..ExternalTls::default()
    };
    check(Some("cloud"), "api.cloud.test:443", Some(cloud), "");
    let client = Some((file("kube/me.pem"), file("/keys/me.pem")));
    check(
        Some("files"),
        "10.0.0.5:6443",
        lab(client),
        "Bearer of-a-file",
    );
    check(Some("basic"), "10.0.0.5:6443", lab(None), "Basic bWU6MToy");
    check(Some("nobody"), "127.0.0.1:8001", None, "");
}

#[test]
fn the_file_is_found_by_its_path_the_home_folder_or_a_variable() {
    for file in ["kube/config", "~/.kube/config", "${env.KUBECONFIG}"] {
        let expected = Address {
            host: "10.0.0.5".to_owned(),
            port: 6443,
        };
        assert_eq!(read(FILE, file, None).unwrap().server, expected, "{file}");
    }
    let check = |file: &str, expected: &str| {
        assert_eq!(read(FILE, file, None).unwrap_err().0, expected);
    };
    check("${env.NONE}", "the environment variable NONE is not set");
    check(
        "other",
        "cannot read other: it is not there; expected the kubeconfig of a cluster, e.g. ~/.kube/config",
    );
    check(
        "${env.SEVERAL}",
        "names several files; expected one: `kubectl config view --flatten` makes one of several",
    );
}

/// A change of the file; the mistake names file and place, and no secret.
#[track_caller]
fn check(old: &str, new: &str, expected: &str) {
    assert!(FILE.contains(old), "{old}");
    let context = new.contains("cloud").then_some("cloud");
    let problem = read(&FILE.replace(old, new), "kube/config", context)
        .unwrap_err()
        .to_string();
    assert_eq!(problem, format!("kube/config:{expected}"));
    assert!(!problem.contains("abc.def"), "{problem}");
}

#[test]
fn mistakes_of_contexts_and_users_name_the_file_the_place_and_what_helps() {
    check(
        "current-context: lab\n",
        "",
        "1:1: there is no current-context; expected system.kubeconfig.context: one of lab, cloud, files, basic, nobody",
    );
    check(
        "current-context: lab",
        "current-context: lap",
        "3:18: there is no context \"lap\"; expected lab, cloud, files, basic, nobody; did you mean \"lab\"?",
    );
    check(
        "cluster: lab, user: token",
        "cluster: barn, user: token",
        "13:38: there is no cluster \"barn\"; expected lab, cloud, proxy",
    );
    check(
        "cluster: lab, user: token",
        "cluster: lab, user: nobody",
        "13:49: there is no user \"nobody\"; expected token, certificate, files, basic",
    );
    let of_user = "token: abc.def-1";
    check(
        of_user,
        "exec: { command: aws }",
        "19:28: user \"token\" gets its identity from a program (exec), which waggle does not run; expected a token in place of it: \
         `kubectl create token SERVICEACCOUNT > FILE`, and tokenFile: FILE",
    );
    check(
        of_user,
        "auth-provider: { name: gcp }",
        "19:28: user \"token\" gets its identity from a provider (auth-provider), which waggle does not ask; expected a token in place \
         of it: `kubectl create token SERVICEACCOUNT > FILE`, and tokenFile: FILE",
    );
    check(
        of_user,
        "token: abc.def-1, as: root",
        "19:46: user \"token\" acts as another user (as), which waggle does not; expected a user of its own",
    );
    check(
        of_user,
        "token: \"abc.def 1\"",
        "19:35: the token of user \"token\" is none; expected letters, digits and -._~+/=",
    );
    check(
        of_user,
        "tokenFile: none",
        "19:39: tokenFile: cannot read kube/none: it is not there; expected the file of the token of user \"token\"",
    );
    check(
        of_user,
        "client-key: me.pem",
        "19:26: user \"token\" has a client key alone; expected client-certificate or client-certificate-data",
    );
}

#[test]
fn mistakes_of_clusters_name_the_file_the_place_and_what_helps() {
    check(
        "Q0E=",
        "\"cloud!\"",
        "9:78: certificate-authority-data is no base64; expected PEM in base64",
    );
    check(
        "https://10.0.0.5:6443",
        "https://rancher.test/k8s/clusters/c-1",
        "7:24: server is \"https://rancher.test/k8s/clusters/c-1\": it has a path, which belongs to the requests; expected \
         https://HOST:PORT of the API server itself",
    );
    check(
        "tls-server-name: kubernetes",
        "insecure-skip-tls-verify: true",
        "7:84: this cluster has an authority, and insecure-skip-tls-verify trusts anybody; expected one of the two",
    );
    check(
        "tls-server-name: kubernetes",
        "proxy-url: \"http://proxy\"",
        "7:84: this cluster is behind a proxy (proxy-url), through which waggle does not send; expected a server that is reached \
         directly, e.g. by `kubectl proxy`",
    );
    check(
        "kind: Config",
        "kind: Config\nkind: Config",
        "3:1: key \"kind\" is given twice; expected each key once",
    );
}
