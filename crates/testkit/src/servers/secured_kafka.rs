//! A Kafka broker with TLS, users and tokens.

use std::{fs, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::{
    Kafka, program,
    servers::server_folder::server_folder,
    tls::{Authority, Signed},
};

/// User of PLAIN, whose password the broker has in its settings.
const PLAIN_USER: &str = "plain";
const PLAIN_PASSWORD: &str = "password-of-plain";

/// The listeners of the broker, besides one without protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// SASL_SSL: SCRAM, PLAIN, OAUTHBEARER with unsigned tokens.
    Sasl,
    /// SSL; clients need a certificate.
    Mutual,
    /// SASL_PLAINTEXT: PLAIN.
    SaslPlaintext,
}

/// The broker, and the authority that signed its certificate.
pub struct SecuredKafka {
    kafka: Kafka,
    authority: Authority,
    /// Files for clients.
    folder: TempDir,
}

impl SecuredKafka {
    pub fn start() -> Self {
        let authority = Authority::new("authority of Kafka");
        let signed = authority.sign("127.0.0.1", 2090);
        let line = |pem: &str| pem.replace("\r\n", "\n").trim().replace('\n', "\\n");
        let (certificate, key, ca) = (
            line(&signed.certificate),
            line(&signed.key),
            line(&authority.pem),
        );
        let module = |path: &str, options: &str| {
            format!("org.apache.kafka.common.security.{path} required {options};")
        };
        let scram = module("scram.ScramLoginModule", "");
        let plain = module(
            "plain.PlainLoginModule",
            &format!("user_{PLAIN_USER}=\"{PLAIN_PASSWORD}\""),
        );
        let token = module(
            "oauthbearer.OAuthBearerLoginModule",
            "unsecuredLoginStringClaim_sub=\"broker\"",
        );
        let kafka = Kafka::start_with_listeners(
            &[
                ("SASL", "SASL_SSL"),
                ("MUTUAL", "SSL"),
                ("BARE", "SASL_PLAINTEXT"),
            ],
            &[
                ("ssl.keystore.type", "PEM"),
                ("ssl.keystore.certificate.chain", &certificate),
                ("ssl.keystore.key", &key),
                ("ssl.truststore.type", "PEM"),
                ("ssl.truststore.certificates", &ca),
                ("listener.name.mutual.ssl.client.auth", "required"),
                (
                    "listener.name.sasl.sasl.enabled.mechanisms",
                    "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN,OAUTHBEARER",
                ),
                ("listener.name.sasl.scram-sha-256.sasl.jaas.config", &scram),
                ("listener.name.sasl.scram-sha-512.sasl.jaas.config", &scram),
                ("listener.name.sasl.plain.sasl.jaas.config", &plain),
                ("listener.name.sasl.oauthbearer.sasl.jaas.config", &token),
                ("listener.name.bare.sasl.enabled.mechanisms", "PLAIN"),
                ("listener.name.bare.plain.sasl.jaas.config", &plain),
            ],
        );
        let server = Self {
            kafka,
            folder: server_folder("kafka-clients-"),
            authority,
        };
        server.write("ca.pem", &server.authority.pem);
        server
    }

    /// The broker, whose own address has no protection.
    pub fn kafka(&self) -> &Kafka {
        &self.kafka
    }

    /// For `bootstrap.servers`.
    pub fn brokers(&self, listener: Listener) -> String {
        let index = match listener {
            Listener::Sasl => 0,
            Listener::Mutual => 1,
            Listener::SaslPlaintext => 2,
        };
        self.kafka.further_address(index).to_string()
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The file with the authority's certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Writes a file for clients, such as one with a password.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, text).expect("a file for clients");
        file
    }

    /// Writes a certificate and its key as `NAME.pem` and `NAME.key`.
    pub fn write_signed(&self, name: &str, signed: &Signed) -> [PathBuf; 2] {
        [
            self.write(&format!("{name}.pem"), &signed.certificate),
            self.write(&format!("{name}.key"), &signed.key),
        ]
    }

    /// User and password of PLAIN.
    pub fn plain_user(&self) -> [&'static str; 2] {
        [PLAIN_USER, PLAIN_PASSWORD]
    }

    /// Makes a user of a mechanism such as `SCRAM-SHA-512`, or changes its password.
    pub fn set_password(&self, mechanism: &str, user: &str, password: &str) {
        let config = format!("{mechanism}=[password={password}]");
        let output = Command::new(program("kafka", "kafka-run-class.sh"))
            .arg("kafka.admin.ConfigCommand")
            .args(["--bootstrap-server", &self.kafka.brokers(), "--alter"])
            .args(["--entity-type", "users", "--entity-name", user])
            .args(["--add-config", &config])
            .env("KAFKA_OPTS", "-XX:TieredStopAtLevel=1")
            .output()
            .expect("Kafka's tool for settings");
        assert!(output.status.success(), "{output:?}");
    }
}
