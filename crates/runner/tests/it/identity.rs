//! Systems whose components run already and ask who is there: certificates and keys that the study names, and that no file of the run
//! has.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::ServerConfig;
use waggle_results::{Run, TrialEnd};
use waggle_testkit::{
    http::{Reply, Request, Server, answer},
    tls::{Authority, ClientAuth},
};

use super::{
    Bench,
    external::{Requests, check, study, text_in},
};

const SYSTEM: &str = "
system: api
summary: An API that asks who is there.
certificates: { server: {}, client: {} }
components:
  api:
    ports: [https]
    tls: { https: { client: client } }
    process: { command: [not-there] }
    ready: { http: { port: https, path: /ready } }
endpoints:
  api: { component: api, port: https }
verify:
  - { name: it answers, endpoint: api, get: /check, expect: { status: 200 } }
";

/// A study of the API, of which nothing is started.
fn bench_of(system: &str, given: &str) -> Bench {
    let bench = study(
        &format!("{{ use: api, {given} }}"),
        "",
        "get: /, endpoint: api",
    );
    fs::write(bench.path("system/system.yaml"), system).unwrap();
    let study = fs::read_to_string(bench.path("study.yaml")).unwrap();
    let study = study.replace("schedule:\n", "schedule:\n  ready_timeout: 1s\n");
    fs::write(bench.path("study.yaml"), study).unwrap();
    bench
}

/// The same with the authority and a client's certificate in files next to the study.
fn bench_with_files(authority: &Authority, address: SocketAddr, tls: &str) -> Bench {
    let port = address.port();
    let given = format!("external: {{ api: {{ https: 'localhost:{port}' }} }}, tls: {{ {tls} }}");
    let bench = bench_of(SYSTEM, &given);
    let client = authority.sign("client", 2090);
    fs::write(bench.path("ca.pem"), &authority.pem).unwrap();
    fs::write(bench.path("client.pem"), client.certificate).unwrap();
    fs::write(bench.path("client.key"), client.key).unwrap();
    bench
}

fn server_of_year(authority: &Authority, year: i32, client: ClientAuth) -> ServerConfig {
    authority.server_with(&authority.sign("localhost", year), client)
}

/// Why the first trial failed.
fn failure(bench: &Bench) -> String {
    let run = bench.results();
    match &run.trials[0].info.end {
        TrialEnd::Failed { reason, .. } => reason.clone(),
        end => panic!("{end:?}"),
    }
}

fn has_pem(run: &Path) -> bool {
    let text = text_in(run);
    text.contains("PRIVATE KEY") || text.contains("BEGIN CERTIFICATE")
}

fn run_of(bench: &Bench) -> PathBuf {
    bench.path("run")
}

#[test]
fn a_component_that_runs_already_is_reached_with_the_certificates_of_the_study() {
    let authority = Authority::new("ours");
    let seen = Requests::default();
    let config = server_of_year(&authority, 2090, ClientAuth::Required);
    let server = Server::start_secure(config, seen.reply());
    let tls = "ca: ca.pem, cert: client.pem, key: client.key";
    let bench = bench_with_files(&authority, server.address, tls);
    check(&bench.results());
    // Readiness, the functional check and the load.
    assert_eq!(seen.count_matching(|_| true), 42);
    assert!(!has_pem(&run_of(&bench)));
    // The certificate's name is not the address.
    let config = authority.server_with(&authority.sign("api.test", 2090), ClientAuth::None);
    let server = Server::start_secure(config, seen.reply());
    let tls = "ca: ca.pem, server_name: api.test";
    check(&bench_with_files(&authority, server.address, tls).results());
}

#[test]
fn a_connection_that_is_refused_is_a_failure_that_names_what_helps() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let fails = |server: &Authority, year, client, tls: &str, expected: &str| {
        let config = server_of_year(server, year, client);
        let server = Server::start_secure(config, Requests::default().reply());
        let reason = failure(&bench_with_files(&ours, server.address, tls));
        assert!(reason.contains(expected), "{reason}");
        assert!(
            reason.starts_with("api runs already at 127.0.0.1:"),
            "{reason}"
        );
    };
    let none = ClientAuth::None;
    fails(&theirs, 2090, none, "ca: ca.pem", "(ca)");
    fails(&ours, 2021, none, "ca: ca.pem", "a new certificate");
    fails(
        &ours,
        2090,
        ClientAuth::Required,
        "ca: ca.pem",
        "CertificateRequired",
    );
}

/// The API of a kubeconfig, whose functional check and load have a secret of the system as their identity.
fn system_of_clusters() -> String {
    let header = "headers: { Authorization: 'Bearer ${secret.token}' }";
    let check = "get: /check, expect";
    let text = SYSTEM.replace(check, &format!("get: /check, {header}, expect"));
    text.replace("verify:", "kubeconfig: api\nverify:").replace(
        "process: { command: [not-there] }",
        "process: { command: [not-there], environment: { TOKEN: '${secret.token}' } }",
    )
}

/// A study of the server of a kubeconfig, in which `user` says who one is.
fn bench_of_kubeconfig(authority: &Authority, address: SocketAddr, user: &str) -> Bench {
    let bench = bench_of(&system_of_clusters(), "kubeconfig: { file: kube/config }");
    let cluster = format!("server: 'https://localhost:{}'", address.port());
    let authority = BASE64_STANDARD.encode(&authority.pem);
    let config = format!(
        "apiVersion: v1
clusters: [{{ name: c, cluster: {{ {cluster}, certificate-authority-data: {authority} }} }}]
users: [{{ name: u, user: {{ {user} }} }}]
contexts: [{{ name: x, context: {{ cluster: c, user: u }} }}]
current-context: x
"
    );
    fs::create_dir(bench.path("kube")).unwrap();
    fs::write(bench.path("kube/config"), config).unwrap();
    let header = "endpoint: api, headers: { Authorization: 'Bearer ${secret.token}' }";
    let study = fs::read_to_string(bench.path("study.yaml")).unwrap();
    fs::write(
        bench.path("study.yaml"),
        study.replace("endpoint: api", header),
    )
    .unwrap();
    bench
}

/// Answers those who have this token, and refuses all others.
fn guard(token: &'static str, seen: &Requests) -> impl Fn(&Request) -> Reply + Send + Sync + use<> {
    let answer_known = seen.reply();
    move |request| match request.header("authorization") {
        Some(value) if value == format!("Bearer {token}") => answer_known(request),
        Some(_) => Reply::Answer(answer(403, "", "forbidden")),
        None => Reply::Answer(answer(401, "", "who are you?")),
    }
}

#[test]
fn the_token_of_a_kubeconfig_is_in_every_request_and_in_no_file() {
    let authority = Authority::new("ours");
    let seen = Requests::default();
    let config = server_of_year(&authority, 2090, ClientAuth::None);
    let server = Server::start_secure(config, guard("hush-hush-7", &seen));
    let bench = bench_of_kubeconfig(&authority, server.address, "tokenFile: token");
    fs::write(bench.path("kube/token"), "hush-hush-7\n").unwrap();
    check(&bench.results());
    assert_eq!(seen.count_matching(|_| true), 42);
    assert!(!has_pem(&run_of(&bench)));
    assert!(!text_in(&run_of(&bench)).contains("hush-hush-7"));
}

#[test]
fn the_client_certificate_of_a_kubeconfig_is_held_in_memory() {
    let authority = Authority::new("ours");
    let seen = Requests::default();
    let config = server_of_year(&authority, 2090, ClientAuth::Required);
    let server = Server::start_secure(config, seen.reply());
    let client = authority.sign("client", 2090);
    let user = format!(
        "client-certificate-data: {}, client-key-data: {}",
        BASE64_STANDARD.encode(client.certificate),
        BASE64_STANDARD.encode(client.key)
    );
    let bench = bench_of_kubeconfig(&authority, server.address, &user);
    check(&bench.results());
    // The system's own secret is nobody there.
    let requests = seen.count_matching(|request| request.header("authorization").is_none());
    assert_eq!(requests, 42);
    assert!(!has_pem(&run_of(&bench)));
}

#[test]
fn an_identity_that_is_refused_is_a_failure_with_the_status() {
    let authority = Authority::new("ours");
    let fails = |user: &str, expected: &str| {
        let config = server_of_year(&authority, 2090, ClientAuth::None);
        let seen = Requests::default();
        let server = Server::start_secure(config, guard("right", &seen));
        let reason = failure(&bench_of_kubeconfig(&authority, server.address, user));
        assert!(reason.contains(expected), "{reason}");
        assert!(!reason.contains("wrong-token"), "{reason}");
    };
    fails(
        "token: wrong-token",
        "GET /ready was answered with status 403",
    );
    fails("", "GET /ready was answered with status 401");
}

#[test]
fn a_file_that_is_not_there_is_a_mistake_before_anything_is_done() {
    let authority = Authority::new("ours");
    let config = server_of_year(&authority, 2090, ClientAuth::None);
    let seen = Requests::default();
    let server = Server::start_secure(config, seen.reply());
    let bench = bench_with_files(&authority, server.address, "ca: other.pem");
    let ran = bench.run(&[]);
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        !ran.status.success() && shown.contains("cannot read"),
        "{shown}"
    );
    assert!(shown.contains("other.pem"), "{shown}");
    assert_eq!(seen.count_matching(|_| true), 0);
    assert!(Run::read(&run_of(&bench)).is_err());
}
