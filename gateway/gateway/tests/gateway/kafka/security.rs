//! Kafka as companies run it: TLS, users, certificates and tokens; and what is said if one of them is wrong.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tempfile::TempDir;
use waggle_testkit::{DEADLINE, KafkaListener, SecuredKafka, tls::Authority, try_for};

use super::cluster::lines;
use crate::support::{Gateway, kafka_command, wait_until};

/// The broker of these tests: started by the first of them, stopped after the last.
pub(super) fn broker() -> Arc<SecuredKafka> {
    static SHARED: Mutex<Weak<SecuredKafka>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(broker) = shared.upgrade() {
        return broker;
    }
    let broker = Arc::new(SecuredKafka::start());
    *shared = Arc::downgrade(&broker);
    broker
}

/// A gateway with its output in a file.
pub(super) struct Logged {
    pub(super) gateway: Gateway,
    folder: TempDir,
}

impl Logged {
    pub(super) fn start(broker: &SecuredKafka, listener: KafkaListener, flags: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Short: it is also how long a gateway waits for brokers that do not accept it.
        let timeout = ["--kafka-delivery-timeout=2s".to_owned()];
        let flags: Vec<&str> = timeout.iter().chain(flags).map(String::as_str).collect();
        let mut command = kafka_command(&broker.brokers(listener), &flags);
        command.stderr(File::create(folder.path().join("log")).unwrap());
        Self {
            gateway: Gateway::start_by(&mut command),
            folder,
        }
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// A record becomes durable and can be read. A busy machine may need more than one request for that.
    pub(super) fn check_write(&self, broker: &SecuredKafka, topic: &str) {
        let mut refusal = String::new();
        let outcome = try_for(DEADLINE, || {
            let answer = self.gateway.put(topic, "m f=1i 1");
            refusal = answer.body;
            (answer.status == 204).then_some(())
        });
        assert!(outcome.is_some(), "{refusal} {}", self.log());
        let mut lines = lines(&broker.kafka().brokers(), topic);
        lines.dedup();
        assert_eq!(lines, ["m f=1i 1"]);
    }

    /// `/readyz` and the log say why it does not work, without a secret.
    pub(super) fn check_refusal(&self, reason: &str, secret: &str) {
        let mut body = String::new();
        let outcome = try_for(DEADLINE, || {
            let ready = self.gateway.get("/readyz");
            body = ready.body;
            (ready.status == 503 && body.contains(reason)).then_some(())
        });
        assert!(outcome.is_some(), "no {reason:?}: {body}{}", self.log());
        wait_until("the reason is logged", || self.log().contains(reason));
        let answer = self.gateway.put("refused", "m f=1i 1");
        assert_eq!(answer.status, 503);
        let metrics = self.gateway.get("/metrics").body;
        for output in [self.log(), body, answer.body, metrics] {
            assert!(!output.contains(secret), "{output}");
        }
    }
}

pub(super) fn file(flag: &str, file: &Path) -> String {
    format!("--kafka-{flag}={}", file.display())
}

pub(super) fn tls(broker: &SecuredKafka, protocol: &str) -> Vec<String> {
    vec![
        format!("--kafka-security-protocol={protocol}"),
        file("ca", &broker.ca_file()),
    ]
}

fn user(mechanism: &str, name: &str, password: &Path) -> Vec<String> {
    vec![
        format!("--kafka-sasl-mechanism={mechanism}"),
        format!("--kafka-username={name}"),
        file("password-file", password),
    ]
}

fn certificate(files: &[PathBuf; 2]) -> [String; 2] {
    [file("certificate", &files[0]), file("key", &files[1])]
}

#[test]
fn users_of_scram_write_over_tls() {
    let broker = broker();
    let password = broker.write("scram", "password of scram\n");
    for mechanism in ["SCRAM-SHA-512", "SCRAM-SHA-256"] {
        broker.set_password(mechanism, "scram", "password of scram");
        let mut flags = tls(&broker, "sasl_ssl");
        flags.extend(user(mechanism, "scram", &password));
        Logged::start(&broker, KafkaListener::Sasl, &flags).check_write(&broker, mechanism);
    }
}

#[test]
fn users_of_plain_write_with_and_without_tls() {
    let broker = broker();
    let [name, password] = broker.plain_user();
    let password = broker.write("plain", password);
    let mut flags = tls(&broker, "sasl_ssl");
    flags.extend(user("PLAIN", name, &password));
    Logged::start(&broker, KafkaListener::Sasl, &flags).check_write(&broker, "plain-tls");
    let mut flags = user("PLAIN", name, &password);
    flags.push("--kafka-security-protocol=sasl_plaintext".to_owned());
    let gateway = Logged::start(&broker, KafkaListener::SaslPlaintext, &flags);
    gateway.check_write(&broker, "plain");
}

#[test]
fn clients_with_a_certificate_write() {
    let broker = broker();
    let signed = broker.write_signed("client", &broker.authority().sign("client", 2090));
    let mut flags = tls(&broker, "ssl");
    flags.extend(certificate(&signed));
    Logged::start(&broker, KafkaListener::Mutual, &flags).check_write(&broker, "mutual");
}

#[test]
fn a_wrong_password_is_said_and_a_right_one_is_read_again() {
    let broker = broker();
    broker.set_password("SCRAM-SHA-512", "changing", "right-password");
    let password = broker.write("changing", "wrong-password");
    let mut flags = tls(&broker, "sasl_ssl");
    flags.extend(user("SCRAM-SHA-512", "changing", &password));
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags);
    gateway.check_refusal("Kafka refuses the credentials", "wrong-password");
    fs::write(&password, "right-password\n").unwrap();
    wait_until("it is ready", || {
        gateway.gateway.get("/readyz").status == 200
    });
    gateway.check_write(&broker, "changing");
    // Records are accepted while the password changes.
    broker.set_password("SCRAM-SHA-512", "changing", "next-password");
    fs::write(&password, "next-password\n").unwrap();
    wait_until("it connects again", || {
        let answer = gateway.gateway.put("changing", "m f=1i 1");
        assert!(matches!(answer.status, 204 | 503), "{}", answer.body);
        gateway.log().matches("connecting again").count() == 2
    });
    gateway.check_write(&broker, "changing");
    for secret in ["right-password", "next-password"] {
        assert!(!gateway.log().contains(secret), "{}", gateway.log());
    }
}

#[test]
fn certificates_that_are_not_accepted_are_said() {
    let broker = broker();
    let other = Authority::new("another authority");
    let other_ca = broker.write("other-ca.pem", &other.pem);
    let foreign = [
        "--kafka-security-protocol=ssl".to_owned(),
        file("ca", &other_ca),
    ];
    let gateway = Logged::start(&broker, KafkaListener::Mutual, &foreign);
    gateway.check_refusal("--kafka-ca", "BEGIN");
    let gateway = Logged::start(&broker, KafkaListener::Mutual, &tls(&broker, "ssl"));
    gateway.check_refusal("TLS with Kafka", "BEGIN");
    let expired = broker.write_signed("expired", &broker.authority().sign("client", 2021));
    let mut flags = tls(&broker, "ssl");
    flags.extend(certificate(&expired));
    let gateway = Logged::start(&broker, KafkaListener::Mutual, &flags);
    gateway.check_refusal("TLS with Kafka", "BEGIN");
    // A valid one takes its place.
    broker.write_signed("expired", &broker.authority().sign("client", 2090));
    wait_until("it is ready", || {
        gateway.gateway.get("/readyz").status == 200
    });
    gateway.check_write(&broker, "certified");
}

/// An unsigned token, which the broker accepts.
pub(super) fn token(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let expiry = now + Duration::from_secs(seconds);
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    let claims = format!(
        r#"{{"sub":"plant","iat":{},"exp":{}}}"#,
        now.as_secs(),
        expiry.as_secs()
    );
    format!("{}.{}.", part(r#"{"alg":"none"}"#), part(&claims))
}

#[test]
fn clients_with_a_token_write_and_read_it_again() {
    let broker = broker();
    let file_of_token = broker.write("token", &token(3600));
    let mut flags = tls(&broker, "sasl_ssl");
    flags.extend([
        "--kafka-sasl-mechanism=OAUTHBEARER".to_owned(),
        file("token-file", &file_of_token),
    ]);
    Logged::start(&broker, KafkaListener::Sasl, &flags).check_write(&broker, "token");
    // A token of few seconds, which another one follows that the broker does not accept.
    fs::write(&file_of_token, token(5)).unwrap();
    let gateway = Logged::start(&broker, KafkaListener::Sasl, &flags);
    gateway.check_write(&broker, "short-token");
    fs::write(&file_of_token, "no-token-at-all").unwrap();
    gateway.check_refusal("Kafka refuses the credentials", "no-token-at-all");
    fs::write(&file_of_token, token(3600)).unwrap();
}

#[test]
fn mistakes_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    fs::write(&password, "secret-\u{1}password").unwrap();
    let check = |flags: &[&str], expected: &str| {
        let output = kafka_command("127.0.0.1:1", flags)
            .env_remove("KAFKA_PASSWORD")
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("secret-"), "{text}");
    };
    let sasl = [
        "--kafka-security-protocol=sasl_ssl",
        "--kafka-sasl-mechanism=PLAIN",
        "--kafka-username=a",
    ];
    check(&sasl, "KAFKA_PASSWORD in the environment");
    let flag = file("password-file", &password);
    check(
        &[&sasl[..], &[&flag]].concat(),
        "without control characters",
    );
    check(&sasl[..2], "--kafka-username");
    check(&sasl[1..], "--kafka-security-protocol");
    check(&["--kafka-security-protocol=tls"], "possible values");
    check(
        &["--kafka-security-protocol=ssl", "--kafka-ca=missing.pem"],
        "--kafka-ca: reading missing.pem",
    );
}

#[test]
fn a_password_may_be_in_the_environment() {
    let broker = broker();
    let [name, password] = broker.plain_user();
    let flags = tls(&broker, "sasl_ssl");
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let username = format!("--kafka-username={name}");
    flags.extend([
        "--kafka-delivery-timeout=1m",
        "--kafka-sasl-mechanism=PLAIN",
        &username,
    ]);
    let mut command: Command = kafka_command(&broker.brokers(KafkaListener::Sasl), &flags);
    let gateway = Gateway::start_by(command.env("KAFKA_PASSWORD", password));
    let answer = gateway.put("environment", "m f=1i 1");
    assert_eq!(answer.status, 204, "{}", answer.body);
}
