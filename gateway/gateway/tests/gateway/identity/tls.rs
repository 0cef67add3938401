//! TLS: certificates of the gateway and of its clients, read again when they change, and the limits of handshakes.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{ChildStderr, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use waggle_testkit::{
    http::{Answer, Connection, put},
    tls::{Authority, Signed},
};

use crate::support::{Gateway, command, store, wait_until};

type Secure = Connection<StreamOwned<ClientConnection, TcpStream>>;

/// A gateway with a certificate, and the folder of its files.
struct Lab {
    gateway: Gateway,
    authority: Authority,
    folder: tempfile::TempDir,
    said: BufReader<ChildStderr>,
}

/// Files of a gateway's certificate.
struct Files {
    folder: tempfile::TempDir,
    store: PathBuf,
}

impl Files {
    fn new(signed: &Signed) -> Self {
        let (folder, store) = store();
        write_certificate(folder.path(), signed);
        Self { folder, store }
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut start = command(&self.store, flags);
        let path = |name: &str| self.folder.path().join(name);
        start.arg("--tls-cert").arg(path("cert.pem"));
        start.arg("--tls-key").arg(path("key.pem"));
        start.stderr(Stdio::piped());
        start
    }
}

/// As an editor does: the gateway never sees a half of a file.
fn write_file(folder: &Path, name: &str, text: &str) {
    let new = folder.join(format!("{name}.new"));
    fs::write(&new, text).unwrap();
    fs::rename(new, folder.join(name)).unwrap();
}

fn write_certificate(folder: &Path, signed: &Signed) {
    write_file(folder, "key.pem", &signed.key);
    write_file(folder, "cert.pem", &signed.certificate);
}

const CLIENTS: &str = "clients:
- name: press
  certificates: ['spiffe://plant/press-7', press-7.plant.example]
  write: [press.*]
  read: [press.*]
- name: panel
  certificates: [panel.plant.example]
  tokens: [2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b]
  read: ['*']
";

impl Lab {
    /// With `{folder}` in flags as the folder of files, in which `files` are.
    fn start(files: &[(&str, String)], flags: &[&str]) -> Self {
        let authority = Authority::new("plant");
        let on_disk = Files::new(&authority.sign("localhost", 2090));
        Self::start_with(authority, on_disk, files, flags)
    }

    fn start_with(
        authority: Authority,
        on_disk: Files,
        files: &[(&str, String)],
        flags: &[&str],
    ) -> Self {
        let folder = on_disk.folder.path();
        write_file(folder, "ca.pem", &authority.pem);
        for (name, text) in files {
            write_file(folder, name, text);
        }
        let place = folder.display().to_string();
        let flags: Vec<String> = flags
            .iter()
            .map(|flag| flag.replace("{folder}", &place))
            .collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut gateway = Gateway::start_by(&mut on_disk.command(&flags));
        Self {
            said: BufReader::new(gateway.stderr()),
            gateway,
            authority,
            folder: on_disk.folder,
        }
    }

    /// A connection of a client with this certificate.
    fn connect(&self, certificate: Option<&Signed>) -> Secure {
        let config = client_config(&self.authority, certificate, &[&TLS13, &TLS12]);
        connect(self.gateway.address, config)
    }

    fn ask(&self, certificate: Option<&Signed>, request: &str) -> Option<Answer> {
        ask(&mut self.connect(certificate), request)
    }

    /// Reads what the gateway says, up to a line with these words.
    fn wait_for(&mut self, words: &str) -> String {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let count = self.said.read_line(&mut line).unwrap();
            assert!(count > 0, "{words:?} was not said");
        }
        line
    }
}

fn client_config(
    authority: &Authority,
    certificate: Option<&Signed>,
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
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

fn connect(address: SocketAddr, config: ClientConfig) -> Secure {
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    Connection::with_stream(StreamOwned::new(connection, socket))
}

/// The answer to a request; `None` if the connection does not come about or has ended.
fn ask(connection: &mut Secure, request: &str) -> Option<Answer> {
    connection.send(request).ok()?;
    connection.answer().ok()
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

const RECORDS: &str = "/api/v1/topics/press.7/records";
const CLIENT_FLAGS: [&str; 2] = [
    "--tls-client-ca={folder}/ca.pem",
    "--clients={folder}/clients.yaml",
];

#[test]
fn records_are_written_and_read_by_tls() {
    let mut lab = Lab::start(&[], &[]);
    for version in [&TLS12, &TLS13] {
        let mut config = client_config(&lab.authority, None, &[version]);
        config.alpn_protocols = vec![b"h3".to_vec(), b"http/1.1".to_vec()];
        let mut client = connect(lab.gateway.address, config);
        client.send(put("press.7", "m f=1").repeat(50)).unwrap();
        for _ in 0..50 {
            assert_eq!(client.answer().unwrap().status, 204);
        }
        let spoken = client.stream().conn.alpn_protocol();
        assert_eq!(spoken, Some(b"http/1.1".as_slice()));
        let latest = get("/api/v1/topics/press.7/latest?series=m");
        assert_eq!(ask(&mut client, &latest).unwrap().status, 200);
    }
    // More than a socket takes at once.
    let text = "x".repeat(200_000);
    for number in 0..20 {
        let body = format!("long,n={number} text=\"{text}\"");
        assert_eq!(lab.ask(None, &put("press.7", &body)).unwrap().status, 204);
    }
    let read = lab.ask(None, &get(RECORDS)).unwrap();
    assert_eq!(read.body.lines().count(), 120);
    assert_eq!(read.body.matches(&text).count(), 20);
    // Another authority's client does not accept the gateway's certificate.
    let stranger = client_config(&Authority::new("other"), None, &[&TLS13]);
    assert!(ask(&mut connect(lab.gateway.address, stranger), &get(RECORDS)).is_none());
    assert!(lab.wait_for("handshake_failed").contains("127.0.0.1"));
    let mut other_protocol = client_config(&lab.authority, None, &[&TLS13]);
    other_protocol.alpn_protocols = vec![b"h3".to_vec()];
    let mut client = connect(lab.gateway.address, other_protocol);
    assert!(ask(&mut client, &get(RECORDS)).is_none());
    let plain = lab.gateway.get(RECORDS);
    assert_eq!(plain.status, 400);
    assert!(plain.body.contains("https"), "{}", plain.body);
    let metrics = lab.ask(None, &get("/metrics")).unwrap().body;
    for line in [
        "waggle_gateway_tls_files_are_in_force 1\n",
        "waggle_gateway_tls_handshakes_failed_total 3\n",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[test]
fn names_in_certificates_are_clients_with_rights() {
    let clients = [("clients.yaml", CLIENTS.to_owned())];
    let mut lab = Lab::start(&clients, &CLIENT_FLAGS);
    let write = put("press.7", "m f=1");
    let read = get(RECORDS);
    let check = |lab: &Lab, signed: &Signed, statuses: [u16; 2]| {
        let mut client = lab.connect(Some(signed));
        let given = [&write, &read].map(|request| ask(&mut client, request).unwrap().status);
        assert_eq!(given, statuses);
    };
    let sign = |lab: &Lab, name: &str| lab.authority.sign(name, 2090);
    check(
        &lab,
        &lab.authority.sign_uri("spiffe://plant/press-7"),
        [204, 200],
    );
    check(&lab, &sign(&lab, "press-7.plant.example"), [204, 200]);
    check(&lab, &sign(&lab, "panel.plant.example"), [403, 200]);
    check(&lab, &sign(&lab, "press-70.plant.example"), [401, 401]);
    // Without a certificate, with one that has expired, is not valid yet or is of another authority: the handshake fails.
    let other = Authority::new("plant").sign("press-7.plant.example", 2090);
    let expired = lab.authority.sign("press-7.plant.example", 2021);
    let later = lab.authority.sign_for_later("press-7.plant.example");
    for (signed, words) in [
        (None, "peer sent no certificates"),
        (Some(&expired), "expired"),
        (Some(&later), "not valid yet"),
        (Some(&other), "invalid peer certificate"),
    ] {
        assert!(lab.ask(signed, &read).is_none(), "{words}");
        let line = lab.wait_for("handshake_failed");
        let is_said = line.to_lowercase().contains(&words.to_lowercase());
        assert!(is_said, "{words} in {line}");
    }
}

#[test]
fn a_certificate_may_be_optional_for_clients_with_tokens() {
    let clients = [("clients.yaml", CLIENTS.to_owned())];
    let flags = [&CLIENT_FLAGS[..], &["--tls-client-auth=optional"]].concat();
    let lab = Lab::start(&clients, &flags);
    let status = |signed: Option<&Signed>, fields: &str| {
        let request = get(RECORDS).replacen("\r\n", &format!("\r\n{fields}"), 1);
        lab.ask(signed, &request).unwrap().status
    };
    // panel:secret
    let token = "Authorization: Basic cGFuZWw6c2VjcmV0\r\n";
    let press = lab.authority.sign("press-7.plant.example", 2090);
    assert_eq!(status(None, ""), 401);
    assert_eq!(status(None, token), 200);
    assert_eq!(status(Some(&press), ""), 200);
    assert_eq!(status(Some(&press), token), 200);
    assert_eq!(status(Some(&press), "Authorization: Bearer wrong\r\n"), 401);
}

#[test]
fn certificates_are_read_again_and_a_mistake_leaves_what_was_in_force() {
    let authority = Authority::new("plant");
    let press = authority.sign("press-7.plant.example", 2090);
    let panel = authority.sign("panel.plant.example", 2090);
    let none_revoked = authority.revoke(&[], 2021);
    let files = [
        ("clients.yaml", CLIENTS.to_owned()),
        ("revoked.pem", none_revoked),
    ];
    let on_disk = Files::new(&authority.sign("localhost", 2089));
    let flags = [
        &CLIENT_FLAGS[..],
        &["--tls-client-crl={folder}/revoked.pem"],
    ]
    .concat();
    let mut lab = Lab::start_with(authority, on_disk, &files, &flags);
    let write = put("press.7", "m f=1");
    let mut open = lab.connect(Some(&press));
    let mut other = lab.connect(Some(&panel));
    assert_eq!(ask(&mut open, &write).unwrap().status, 204);
    assert_eq!(ask(&mut other, &get(RECORDS)).unwrap().status, 200);
    let shown = |client: &mut Secure| {
        let chain = client.stream().conn.peer_certificates().unwrap();
        chain[0].clone()
    };
    let first = shown(&mut open);
    write_certificate(lab.folder.path(), &lab.authority.sign("localhost", 2090));
    lab.wait_for("certificates are read again");
    let mut newer = lab.connect(Some(&press));
    assert_eq!(ask(&mut newer, &write).unwrap().status, 204);
    assert_ne!(shown(&mut newer), first);
    // The connection that is open stays.
    assert_eq!(ask(&mut open, &write).unwrap().status, 204);

    write_file(lab.folder.path(), "cert.pem", "no certificate");
    lab.wait_for("what was in force remains");
    assert_eq!(
        ask(&mut lab.connect(Some(&press)), &write).unwrap().status,
        204
    );
    let metrics = ask(&mut other, &get("/metrics")).unwrap().body;
    assert!(metrics.contains("tls_files_are_in_force 0\n"), "{metrics}");
    // 2021-01-01
    let is_old = "tls_client_crl_expires_seconds 1609459200\n";
    assert!(metrics.contains(is_old), "{metrics}");
    let expired = lab.authority.sign("localhost", 2021);
    write_certificate(lab.folder.path(), &expired);
    lab.wait_for("expired on");

    write_certificate(lab.folder.path(), &lab.authority.sign("localhost", 2090));
    let revoked = lab.authority.revoke(&[&press], 2090);
    write_file(lab.folder.path(), "revoked.pem", &revoked);
    lab.gateway.signal("HUP");
    wait_until("the certificate is revoked", || {
        ask(&mut open, &write).is_none_or(|answer| answer.status == 401)
    });
    let metrics = ask(&mut other, &get("/metrics")).unwrap().body;
    assert!(!metrics.contains(is_old), "{metrics}");
    assert!(lab.ask(Some(&press), &write).is_none());
    assert_eq!(ask(&mut other, &get(RECORDS)).unwrap().status, 200);
}

#[test]
fn mistakes_in_files_of_tls_are_refused_at_the_start() {
    let authority = Authority::new("plant");
    let good = authority.sign("localhost", 2090);
    let check = |signed: &Signed, flags: &[&str], words: &[&str]| {
        let files = Files::new(signed);
        let place = files.folder.path().display().to_string();
        let flags: Vec<String> = flags
            .iter()
            .map(|flag| flag.replace("{folder}", &place))
            .collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ended = files.command(&flags).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        for word in words {
            assert!(said.contains(word), "{word} in {said}");
        }
        assert!(!said.contains("PRIVATE KEY-----\nM"), "{said}");
    };
    let expired = authority.sign("localhost", 2021);
    check(&expired, &[], &["cert.pem", "expired on"]);
    let later = authority.sign_for_later("localhost");
    check(&later, &[], &["cert.pem", "is not valid before"]);
    let mut other_key = authority.sign("localhost", 2090);
    other_key.key = authority.sign("localhost", 2090).key;
    check(&other_key, &[], &["key.pem", "the key is not that"]);
    let mut no_key = authority.sign("localhost", 2090);
    no_key.key.clone_from(&good.certificate);
    check(&no_key, &[], &["key.pem", "expected a private key"]);
    check(
        &good,
        &["--tls-client-ca=/no/such/file"],
        &["/no/such/file"],
    );
    check(
        &good,
        &["--tls-client-ca={folder}/key.pem"],
        &["key.pem", "expected certificates"],
    );
    check(
        &good,
        &["--tls-client-ca={folder}"],
        &["expected a regular file"],
    );
    check(&good, &["--tls-client-auth=optional"], &["--tls-client-ca"]);
    let list = "--tls-client-crl={folder}/cert.pem";
    let with_list = ["--tls-client-ca={folder}/cert.pem", list];
    check(&good, &with_list, &["cert.pem"]);
}

#[test]
fn handshakes_are_limited_and_do_not_delay_the_end() {
    let lab = Lab::start(&[], &["--tls-handshakes-max=2", "--head-timeout=1h"]);
    let silent = || TcpStream::connect(lab.gateway.address).unwrap();
    let (first, mut second) = (silent(), silent());
    // Both have their turn: one more byte of a handshake changes nothing.
    second.write_all(&[22]).unwrap();
    let mut third = lab.connect(None);
    let wait = Some(Duration::from_millis(300));
    third.stream().sock.set_read_timeout(wait).unwrap();
    third.send(get("/readyz")).unwrap_err();
    drop(first);
    third.stream().sock.set_read_timeout(None).unwrap();
    assert_eq!(ask(&mut third, &get("/readyz")).unwrap().status, 200);
    let mut gateway = lab.gateway;
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    let mut rest = Vec::new();
    let end = second.read_to_end(&mut rest);
    let is_over = end.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true);
    assert!(is_over && rest.is_empty(), "{rest:?}");
}
