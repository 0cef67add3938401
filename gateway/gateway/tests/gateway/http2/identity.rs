//! HTTP/2 over TLS, with tokens and with certificates of clients.

use std::{fs, process::Stdio};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use waggle_testkit::{
    stream_client::StreamClient,
    tls::{Authority, Signed},
};

use super::*;
use crate::support::command;

const TOKEN: &str = "a-token-of-a-panel";

/// A gateway that knows a client by its token and another one by its certificate.
pub(super) struct Secured {
    pub(super) gateway: Gateway,
    authority: Authority,
    _folder: tempfile::TempDir,
}

impl Secured {
    pub(super) fn start(flags: &[&str]) -> Self {
        let (folder, file) = store();
        let authority = Authority::new("plant");
        let signed = authority.sign("localhost", 2090);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("cert.pem", &signed.certificate);
        write("key.pem", &signed.key);
        write("ca.pem", &authority.pem);
        write("clients.yaml", &clients());
        let path = |name: &str| folder.path().join(name);
        let mut start = command(&file, flags);
        start.arg("--tls-cert").arg(path("cert.pem"));
        start.arg("--tls-key").arg(path("key.pem"));
        start.arg("--tls-client-ca").arg(path("ca.pem"));
        start.arg("--tls-client-auth=optional");
        start.arg("--clients").arg(path("clients.yaml"));
        Self {
            gateway: Gateway::start_by(start.stderr(Stdio::null())),
            authority,
            _folder: folder,
        }
    }

    fn connect(&self, certificate: Option<&Signed>) -> StreamClient {
        let config = client_config(&self.authority, certificate);
        StreamClient::connect_tls(self.gateway.address, config).unwrap()
    }
}

fn clients() -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, TOKEN.as_bytes());
    let digest: String = digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!(
        "clients:\n- name: press\n  certificates: [press-7.plant.example]\n  write: [t]\n  read: [t]\n\
         - name: panel\n  tokens: [{digest}]\n  read: [t]\n  requests_per_second: 3\n"
    )
}

fn client_config(authority: &Authority, certificate: Option<&Signed>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match certificate {
        None => builder.with_no_client_auth(),
        Some(signed) => {
            let chain = CertificateDer::pem_slice_iter(signed.certificate.as_bytes());
            let chain = chain.map(Result::unwrap).collect();
            let key = PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    }
}

fn status(client: &mut StreamClient, request: Request) -> u16 {
    client.ask(request).unwrap().status
}

#[test]
fn a_certificate_says_who_writes() {
    let lab = Secured::start(&[]);
    let signed = lab.authority.sign("press-7.plant.example", 2090);
    let mut client = lab.connect(Some(&signed));
    assert_eq!(status(&mut client, put("m f=1")), 204);
    assert_eq!(status(&mut client, get(RECORDS)), 200);
    let other = request("PUT", "/api/v1/topics/other/records", &[], "m f=1");
    assert_eq!(status(&mut client, other), 403);
}

#[test]
fn a_token_says_who_reads() {
    let lab = Secured::start(&[]);
    let mut client = lab.connect(None);
    let refused = client.ask(get(RECORDS)).unwrap();
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some());
    assert_eq!(status(&mut client, get("/healthz")), 200);
    let bearer = format!("Bearer {TOKEN}");
    let fields = [("authorization", &*bearer)];
    assert_eq!(
        status(&mut client, request("PUT", RECORDS, &fields, "m f=1")),
        403
    );
    // Streams of one connection may have different senders.
    let mut answers = client.ask_all(vec![
        request("GET", RECORDS, &fields, ""),
        get(RECORDS),
        request("GET", RECORDS, &[("authorization", "Bearer x")], ""),
    ]);
    let statuses: Vec<u16> = answers
        .drain(..)
        .map(|answer| answer.unwrap().status)
        .collect();
    assert_eq!(statuses, [200, 401, 401]);
    // And a budget together.
    let many = vec![request("GET", RECORDS, &fields, ""); 30];
    let answers = client.ask_all(many).into_iter();
    let refused = answers.filter(|answer| answer.as_ref().unwrap().status == 429);
    assert!(refused.count() > 20);
}

#[test]
fn a_client_without_http_2_is_served_by_http_1() {
    let lab = Secured::start(&[]);
    let address = lab.gateway.address;
    let mut config = client_config(&lab.authority, None);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = "localhost".try_into().unwrap();
    let connection = rustls::ClientConnection::new(config.into(), name).unwrap();
    let socket = std::net::TcpStream::connect(address).unwrap();
    let stream = rustls::StreamOwned::new(connection, socket);
    let mut client = waggle_testkit::http::Connection::with_stream(stream);
    client
        .send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert_eq!(client.answer().unwrap().status, 200);
}

/// Streams of one connection may be those of several clients, as behind a proxy: each request counts for whom its own credentials name,
/// also if its body comes after the head of another one.
#[test]
fn streams_of_several_clients_keep_their_names() {
    let (folder, file) = store();
    let digest = |token: &str| {
        let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
        let bytes = digest.as_ref().iter();
        bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let clients = ["left", "right"].map(|name| {
        let digest = digest(&format!("token-of-{name}"));
        format!("- name: {name}\n  tokens: [{digest}]\n  write: [{name}]\n  create: [{name}]\n")
    });
    let path = folder.path().join("clients.yaml");
    fs::write(&path, format!("clients:\n{}", clients.concat())).unwrap();
    let mut start = command(&file, &[]);
    start.arg("--clients").arg(&path);
    let gateway = Gateway::start_by(start.stderr(Stdio::null()));
    let mut client = StreamClient::connect(gateway.address);
    let fields = |name: &str| format!("Bearer token-of-{name}");
    let target = |topic: &str| format!("/api/v1/topics/{topic}/records");
    let write = |name: &str, topic: &str| {
        let authorization = fields(name);
        request(
            "PUT",
            &target(topic),
            &[("authorization", &authorization)],
            "m f=1",
        )
    };
    for _ in 0..3 {
        let authorization = fields("left");
        let begun = head("PUT", &target("left"), &[("authorization", &authorization)]);
        let mut late = client.open(begun, false).unwrap();
        assert_eq!(status(&mut client, write("right", "right")), 204);
        client.send(&mut late, "m f=2".into(), true).unwrap();
        assert_eq!(client.answer(late).unwrap().status, 204);
        assert_eq!(status(&mut client, write("right", "left")), 403);
        assert_eq!(status(&mut client, write("left", "right")), 403);
        assert_eq!(status(&mut client, write("right", "right")), 204);
    }
}
