//! `waggle load` over TLS: whom it trusts, what it shows of itself, and what it says where TLS does not come about.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use serde_json::Value;
use waggle_load::NullServer;

use crate::{
    codes::load_result,
    desk::{Desk, shown},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Certificates in a desk's folder: `ca.pem`, and `both.pem`, a certificate for localhost that the authority has signed,
/// with its key.
struct Certificates {
    authority: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: String,
}

impl Certificates {
    fn in_folder_of(desk: &Desk) -> Self {
        let authority_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(params, authority_key);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params.signed_by(&key, &issuer).unwrap();
        fs::write(desk.path().join("ca.pem"), authority.pem()).unwrap();
        let both = certificate.pem() + &key.serialize_pem();
        fs::write(desk.path().join("both.pem"), both).unwrap();
        Self {
            authority: authority.der().clone(),
            certificate: certificate.der().clone(),
            key: key.serialize_pem(),
        }
    }

    /// A server that answers until the test ends; `asks`: for a certificate of its clients too.
    fn serve(&self, asks: bool) -> SocketAddr {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.authority.clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let config = builder
            .with_single_cert(vec![self.certificate.clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = Arc::new(config);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, config) = (stream.unwrap(), Arc::clone(&config));
                std::thread::spawn(move || answer_all(stream, config));
            }
        });
        address
    }
}

/// One request at a time is on its way, so what is read is one.
fn answer_all(socket: TcpStream, config: Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|read| read > 0) {
        if stream
            .write_all(ANSWER)
            .and_then(|()| stream.flush())
            .is_err()
        {
            return;
        }
    }
}

fn json(desk: &Desk, url: &str, flags: &[&str]) -> Value {
    let base = ["load", url, "-c", "2", "-n", "40", "--quiet", "--json"];
    let output = desk.output(&[&base[..], flags].concat());
    load_result(&output)
}

#[test]
fn a_certificate_that_is_not_taken_ends_the_load_early() {
    let desk = Desk::new();
    let certificates = Certificates::in_folder_of(&desk);
    let url = format!("https://localhost:{}/", certificates.serve(false).port());
    for warm_up in ["0s", "1h"] {
        let flags = ["load", &url, "-c", "2", "-d", "1h", "--warm-up", warm_up];
        let output = desk.output(&[&flags[..], &["--quiet"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
        assert!(text.contains("no request could be sent: "), "{text}");
        assert!(text.contains("handshake unknown issuer"), "{text}");
        assert!(text.contains("ended early (--cacert FILE names"), "{text}");
    }
}

#[test]
fn servers_are_trusted_as_asked() {
    let desk = Desk::new();
    let certificates = Certificates::in_folder_of(&desk);
    let url = format!("https://localhost:{}/", certificates.serve(false).port());
    let check = |flags: &[&str], succeeded: u64| {
        let result = json(&desk, &url, flags);
        assert_eq!(result["succeeded"], succeeded, "{flags:?}: {result}");
        assert_eq!(result["settings"]["tls"], true);
        result
    };
    let result = check(&["--cacert", "ca.pem"], 40);
    assert_eq!(result["handshakes"], 2);
    assert_eq!(result["handshake_time_us"]["count"], 2);
    let result = check(&["-k", "--no-sessionid"], 40);
    assert_eq!(result["handshakes_resumed"], 0);
    // The refusal ends it at once.
    let result = check(&["-d", "60s"], 0);
    assert_eq!(result["verdict"], "failed");
    assert!(
        result["failures"]["handshake_unknown_issuer"].as_u64() > Some(0),
        "{result}"
    );
    let result = check(&["--http2", "-k", "-d", "3s"], 0);
    assert!(
        result["failures"]["handshake_no_protocol"].as_u64() > Some(0),
        "{result}"
    );
}

#[test]
fn a_client_shows_its_certificate() {
    let desk = Desk::new();
    let certificates = Certificates::in_folder_of(&desk);
    let url = format!("https://localhost:{}/", certificates.serve(true).port());
    let result = json(&desk, &url, &["--cacert", "ca.pem", "--cert", "both.pem"]);
    assert_eq!(result["succeeded"], 40, "{result}");
    let result = json(&desk, &url, &["--cacert", "ca.pem", "-d", "300ms"]);
    assert_eq!(result["succeeded"], 0, "{result}");
}

#[test]
fn flags_for_tls_are_for_https() {
    let desk = Desk::new();
    let server = NullServer::start("127.0.0.1:0".parse().unwrap(), ANSWER).unwrap();
    let url = server.address().to_string();
    fs::write(desk.path().join("empty.pem"), "nothing").unwrap();
    let check = |flags: &[&str], expected: &str| {
        let output = desk.output(&[&["load"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(expected), "{}", shown(&output));
    };
    let secure = format!("https://{url}/");
    check(&[&url, "-k"], "--insecure is for https");
    check(&[&url, "--cacert", "ca.pem"], "--cacert is for https");
    check(
        &[&secure, "--cacert", "nowhere.pem"],
        "cannot read nowhere.pem",
    );
    check(&[&secure, "--cacert", "empty.pem"], "cannot set up TLS");
    check(&[&secure, "--key", "both.pem"], "--cert");
    check(
        &[&url, "--http2", "--disable-keepalive"],
        "cannot be used with",
    );
    assert_eq!(server.stop(), 0, "nothing was to be started");
}
