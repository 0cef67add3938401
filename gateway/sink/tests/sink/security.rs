//! Kafka with users, tokens and TLS, and InfluxDB over https.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use waggle_testkit::{
    KafkaListener, SecuredKafka, TlsTerminator,
    http::{self, Reply, Server},
    tls::Authority,
};

use crate::{
    lab::{Log, database, messages, wait_for_keys},
    process::Sink,
};

/// The broker of these tests, with a producer that needs no user, and the database behind TLS.
struct Lab {
    kafka: SecuredKafka,
    log: Log,
    database: TlsTerminator,
}

/// Started by the first test, stopped after the last.
fn lab() -> Arc<Lab> {
    static SHARED: Mutex<Weak<Lab>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lab) = shared.upgrade() {
        return lab;
    }
    let kafka = SecuredKafka::start();
    let lab = Arc::new(Lab {
        log: Log::of_brokers(&kafka.kafka().brokers()),
        database: TlsTerminator::start(kafka.authority().server(), database().address()),
        kafka,
    });
    *shared = Arc::downgrade(&lab);
    lab
}

impl Lab {
    /// Flags of a sink of the topic, over TLS on both sides.
    fn flags(&self, topic: &str, mechanism: &str) -> Vec<String> {
        let url = format!("https://localhost:{}", self.database.address().port());
        let mut flags = self.log.flags_to(topic, &url, database().bucket());
        flags[0] = format!(
            "--kafka-brokers={}",
            self.kafka.brokers(KafkaListener::Sasl)
        );
        flags.extend([
            file("influxdb-ca", &self.kafka.ca_file()),
            "--kafka-security-protocol=sasl_ssl".to_owned(),
            file("kafka-ca", &self.kafka.ca_file()),
            format!("--kafka-sasl-mechanism={mechanism}"),
        ]);
        flags
    }
}

fn file(flag: &str, file: &Path) -> String {
    format!("--{flag}={}", file.display())
}

/// No output of the sink has the secret.
fn check_secret(sink: &Sink, secret: &str) {
    for text in [
        sink.stderr_text(),
        sink.get("/metrics").1,
        sink.get("/readyz").1,
    ] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn records_of_a_secured_kafka_go_to_a_database_over_https() {
    let lab = lab();
    lab.log.make("secured", 2);
    lab.log.put("secured", 2, &messages("secured", 0..100, 1));
    lab.log.flush();
    lab.kafka
        .set_password("SCRAM-SHA-512", "sink", "first-password");
    let password = lab.kafka.write("sink", "wrong-password\n");
    let mut flags = lab.flags("secured", "SCRAM-SHA-512");
    flags.extend([
        "--kafka-username=sink".to_owned(),
        file("kafka-password-file", &password),
    ]);
    let sink = Sink::start(&flags, database().token());
    sink.wait_for_readyz(503, "Kafka refuses the credentials");
    check_secret(&sink, "wrong-password");
    fs::write(&password, "first-password\n").unwrap();
    wait_for_keys(database(), "secured", 0..100);
    sink.wait_for_readyz(200, "ready");
    // The password changes while records arrive.
    lab.kafka
        .set_password("SCRAM-SHA-512", "sink", "second-password");
    fs::write(&password, "second-password\n").unwrap();
    lab.log.put("secured", 2, &messages("secured", 100..200, 1));
    lab.log.flush();
    wait_for_keys(database(), "secured", 0..200);
    for secret in ["first-password", "second-password"] {
        check_secret(&sink, secret);
    }
}

/// An unsigned token, which the broker accepts.
fn token() -> String {
    let expiry = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970")
        + Duration::from_hours(1);
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    let claims = format!(r#"{{"sub":"sink","iat":1,"exp":{}}}"#, expiry.as_secs());
    format!("{}.{}.", part(r#"{"alg":"none"}"#), part(&claims))
}

#[test]
fn a_sink_asks_for_its_token() {
    let lab = lab();
    lab.log.make("asked", 1);
    lab.log.put("asked", 1, &messages("asked", 0..10, 1));
    lab.log.flush();
    let server = Server::start(|_| {
        let token = token();
        let answer = format!(r#"{{"access_token":"{token}","token_type":"Bearer"}}"#);
        Reply::Answer(http::ok(&answer))
    });
    let secret = lab.kafka.write("client-secret", "secret-of-sink");
    let mut flags = lab.flags("asked", "OAUTHBEARER");
    flags.extend([
        format!("--kafka-token-url=http://{}/token", server.address),
        "--kafka-token-client-id=sink".to_owned(),
        file("kafka-token-client-secret-file", &secret),
    ]);
    let sink = Sink::start(&flags, database().token());
    wait_for_keys(database(), "asked", 0..10);
    sink.wait_for_readyz(200, "ready");
    check_secret(&sink, "secret-of-sink");
    // One token is that of all clients of Kafka.
    assert_eq!(server.received_count(), 1);
}

#[test]
fn a_sink_with_a_token_writes_dead_letters() {
    let lab = lab();
    lab.log.make("tokens", 1);
    let mut all = messages("tokens", 0..10, 1);
    all.push("this is no record".to_owned());
    lab.log.put("tokens", 1, &all);
    lab.log.flush();
    let token = lab.kafka.write("token", &token());
    let mut flags = lab.flags("tokens", "OAUTHBEARER");
    flags.push(file("kafka-token-file", &token));
    let sink = Sink::start(&flags, database().token());
    wait_for_keys(database(), "tokens", 0..10);
    let letters = lab.log.messages("tokens.dead", 1);
    assert_eq!(letters[0].0, "this is no record");
    sink.wait_for_readyz(200, "ready");
}

#[test]
fn a_database_with_a_certificate_of_another_authority_is_not_trusted() {
    let lab = lab();
    lab.log.make("untrusted", 1);
    lab.log
        .put("untrusted", 1, &messages("untrusted", 0..10, 1));
    lab.log.flush();
    let other = lab.kafka.write("other.pem", &Authority::new("another").pem);
    let [name, password] = lab.kafka.plain_user();
    let password = lab.kafka.write("plain", password);
    let mut flags = lab.flags("untrusted", "PLAIN");
    flags.retain(|flag| !flag.starts_with("--influxdb-ca"));
    flags.extend([
        file("influxdb-ca", &other),
        format!("--kafka-username={name}"),
        file("kafka-password-file", &password),
    ]);
    let sink = Sink::start(&flags, database().token());
    sink.wait_for_readyz(503, "invalid peer certificate");
    check_secret(&sink, database().token());
}

#[test]
fn flags_that_contradict_each_other_are_refused_at_the_start() {
    let flags = [
        "--kafka-brokers=127.0.0.1:1",
        "--topic=t",
        "--influxdb-url=http://127.0.0.1:1",
        "--influxdb-org=lab",
        "--influxdb-bucket=b",
        "--kafka-security-protocol=sasl_ssl",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_waggle-sink"))
        .args(flags)
        .env("INFLUX_TOKEN", "token")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--kafka-sasl-mechanism: expected"), "{text}");
}
