//! A gateway that is built without TLS for Kafka refuses what it lacks.

use std::process::Stdio;

use crate::support::kafka_command;

#[test]
fn what_the_build_lacks_is_refused_at_the_start() {
    for flags in [
        &["--kafka-security-protocol=ssl"][..],
        &[
            "--kafka-security-protocol=sasl_plaintext",
            "--kafka-sasl-mechanism=SCRAM-SHA-512",
            "--kafka-username=a",
        ],
    ] {
        let output = kafka_command("127.0.0.1:1", flags)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("feature kafka-tls"), "{text}");
    }
}
