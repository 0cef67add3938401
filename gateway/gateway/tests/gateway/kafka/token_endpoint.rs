//! Tokens of an OpenID provider for Kafka: asked for by the grant `client_credentials`, renewed, and what is said without them.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use waggle_testkit::{
    KafkaListener, SecuredKafka,
    http::{self, Reply, Request, Server},
};

use super::security::{Logged, broker, file, tls, token};
use crate::support::{kafka_command, wait_until};

const CLIENT: &str = "plant:7";
const SECRET: &str = "s3cret +";

/// The answer with a token.
fn token_answer(seconds: u64) -> Reply {
    let token = token(seconds);
    let text =
        format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{seconds}}}"#);
    Reply::Answer(http::ok(&text))
}

/// Whether it asks as RFC 6749 says: both parts of Basic are encoded.
fn is_as_expected(request: &Request) -> bool {
    let both = STANDARD.encode("plant%3A7:s3cret+%2B");
    let is_post = request.method == "POST" && request.path == "/token?realm=plant";
    is_post
        && request.header("authorization") == Some(&*format!("Basic {both}"))
        && request.text() == "grant_type=client_credentials&scope=write+read"
}

/// Flags for tokens of this URL.
fn flags(broker: &SecuredKafka, url: &str) -> Vec<String> {
    let secret = broker.write("client-secret", &format!("{SECRET}\n"));
    let mut flags = tls(broker, "sasl_ssl");
    flags.extend([
        "--kafka-sasl-mechanism=OAUTHBEARER".to_owned(),
        format!("--kafka-token-url={url}"),
        format!("--kafka-token-client-id={CLIENT}"),
        file("token-client-secret-file", &secret),
        "--kafka-token-scope=write read".to_owned(),
    ]);
    flags
}

#[test]
fn tokens_are_renewed_before_they_expire() {
    let broker = broker();
    let server = Server::start(|request| match is_as_expected(request) {
        true => token_answer(5),
        false => Reply::Answer(http::answer(400, "", "")),
    });
    let url = format!("http://{}/token?realm=plant", server.address);
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags(&broker, &url));
    gateway.check_write(&broker, "renewed-token");
    let answered = server.answered_count();
    wait_until("it has asked twice more", || {
        server.answered_count() >= answered + 2
    });
    wait_until("it still writes", || {
        gateway.gateway.put("renewed-token", "m f=1i 1").status == 204
    });
}

#[test]
fn an_endpoint_over_tls_is_checked_by_its_authority() {
    let broker = broker();
    let authority = waggle_testkit::tls::Authority::new("provider");
    let server = Server::start_secure(authority.server(), |_| token_answer(3600));
    let url = format!(
        "https://localhost:{}/token?realm=plant",
        server.address.port()
    );
    let mut flags = flags(&broker, &url);
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags);
    gateway.check_refusal("--kafka-token-url", SECRET);
    assert!(gateway.log().contains("TLS: "), "{}", gateway.log());
    assert_eq!(server.received_count(), 0);
    let ca = broker.write("provider.pem", &authority.pem);
    flags.push(file("token-ca", &ca));
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags);
    gateway.check_write(&broker, "token-over-tls");
}

#[test]
fn a_refusal_is_said_and_asked_about_again() {
    let broker = broker();
    let is_known = Arc::<AtomicBool>::default();
    let known = Arc::clone(&is_known);
    let body = format!(r#"{{"error":"invalid_client","error_description":"not {SECRET}"}}"#);
    let server = Server::start(move |_| match known.load(Ordering::SeqCst) {
        false => Reply::Answer(http::answer(401, "", &body)),
        true => token_answer(3600),
    });
    let url = format!("http://{}/token?realm=plant", server.address);
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags(&broker, &url));
    gateway.check_refusal("401 Unauthorized: invalid_client", SECRET);
    is_known.store(true, Ordering::SeqCst);
    wait_until("it is ready", || {
        gateway.gateway.get("/readyz").status == 200
    });
    gateway.check_write(&broker, "token-after-refusal");
}

#[test]
fn a_renewal_that_fails_is_logged_while_there_is_a_token() {
    let broker = broker();
    let asked = AtomicU64::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => token_answer(10),
        _ => Reply::Answer(http::answer(500, "", SECRET)),
    });
    let url = format!("http://{}/token?realm=plant", server.address);
    let mut flags = flags(&broker, &url);
    flags.retain(|flag| !flag.contains("scope"));
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags);
    gateway.check_write(&broker, "token-not-renewed");
    wait_until("the reason is logged", || {
        gateway.log().contains("found 500")
    });
    assert!(
        gateway.log().contains("stays in force"),
        "{}",
        gateway.log()
    );
    assert!(!gateway.log().contains(SECRET), "{}", gateway.log());
}

#[test]
fn endpoints_that_cannot_be_used_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret-of-file").unwrap();
    let secret = file("token-client-secret-file", &secret);
    let check = |more: &[&str], expected: &str| {
        let flags = [
            "--kafka-security-protocol=sasl_ssl",
            "--kafka-sasl-mechanism=OAUTHBEARER",
        ];
        let mut command = kafka_command("127.0.0.1:1", &[&flags[..], more].concat());
        let output = command
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{expected:?}: {text}");
        assert!(!text.contains("secret-of"), "{text}");
    };
    let url = "--kafka-token-url=https://a.example/token";
    let id = "--kafka-token-client-id=a";
    check(&[], "--kafka-token-url");
    check(&[url], "--kafka-token-client-id");
    check(&[url, id], "--kafka-token-client-secret-file");
    check(
        &[url, id, &secret, "--kafka-token-file=x"],
        "cannot be used with",
    );
    check(
        &["--kafka-token-url=http://a.example/token", id, &secret],
        "expected a URL that begins with https://",
    );
    check(
        &[
            "--kafka-token-url=https://u:secret-of-url@a/token",
            id,
            &secret,
        ],
        "expected a URL that begins with https://",
    );
    check(&[url, id, &secret, "--kafka-token-ca=/no/file"], "/no/file");
    check(
        &[url, id, "--kafka-token-client-secret-file=/no/secret"],
        "/no/secret",
    );
}
