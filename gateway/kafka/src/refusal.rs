//! What librdkafka's errors mean for credentials and certificates.

use rdkafka::{error::KafkaError, types::RDKafkaErrorCode};

/// Names of librdkafka's settings and of our flags.
const FLAGS: [(&str, &str); 5] = [
    ("`ssl.ca.location`", "--kafka-ca"),
    ("ssl.ca.location", "--kafka-ca"),
    ("ssl.certificate.location", "--kafka-certificate"),
    ("ssl.key.location", "--kafka-key"),
    ("ssl.key.password", "--kafka-key-password-file"),
];

/// An error of creating a client, without the values of its settings, which may be secret, and with the names of our flags.
pub fn presentable_error(error: KafkaError) -> KafkaError {
    match error {
        KafkaError::ClientConfig(result, problem, name, _) => {
            KafkaError::ClientConfig(result, problem, name, "…".to_owned())
        }
        KafkaError::ClientCreation(problem) => KafkaError::ClientCreation(flag_names(&problem)),
        error => error,
    }
}

/// Why brokers and this client do not accept each other, if an error or a log line of librdkafka is about that. `error` is what
/// comes with the text, if anything does.
pub fn refusal_reason(error: Option<&KafkaError>, text: &str) -> Option<String> {
    let code = error.and_then(KafkaError::rdkafka_error_code);
    let text = without_thread(text);
    let is_any = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    match code {
        Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {}
        Some(RDKafkaErrorCode::SSL) => return Some(tls_reason(text)),
        _ if is_any(&["SSL routines", "SSL handshake failed"]) => return Some(tls_reason(text)),
        _ if is_any(&["SASL authentication error", "SASL OAUTHBEARER token"]) => {}
        _ => return None,
    }
    Some(format!(
        "Kafka refuses the credentials: {}",
        flag_names(text)
    ))
}

fn tls_reason(text: &str) -> String {
    format!("TLS with Kafka: {}", flag_names(text))
}

/// A log line without librdkafka's thread, `[thrd:…]: `.
fn without_thread(text: &str) -> &str {
    let rest = text
        .strip_prefix("[thrd:")
        .and_then(|rest| rest.split_once("]: "));
    rest.map_or(text, |(_, text)| text)
}

fn flag_names(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (name, flag)| {
        text.replace(name, flag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_is_not_accepted() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(refusal_reason(None, text).as_deref(), expected);
        };
        check("1/1 brokers are down", None);
        check(
            "[thrd:ssl://a:1/bootstrap]: ssl://a:1/bootstrap: Receive failed: error:0A000412:SSL routines::sslv3 alert",
            Some(
                "TLS with Kafka: ssl://a:1/bootstrap: Receive failed: error:0A000412:SSL routines::sslv3 alert",
            ),
        );
        check(
            "ssl://a:1/1: SSL handshake failed: verify that ssl.ca.location is correctly configured",
            Some(
                "TLS with Kafka: ssl://a:1/1: SSL handshake failed: verify that --kafka-ca is correctly configured",
            ),
        );
        check(
            "sasl_ssl://a:1/1: SASL authentication error: Authentication failed",
            Some(
                "Kafka refuses the credentials: sasl_ssl://a:1/1: SASL authentication error: Authentication failed",
            ),
        );
    }

    #[test]
    fn errors_of_settings_have_no_value() {
        let result = rdkafka::types::RDKafkaConfRes::RD_KAFKA_CONF_INVALID;
        let error = KafkaError::ClientConfig(
            result,
            "it is wrong".to_owned(),
            "sasl.password".to_owned(),
            "hidden".to_owned(),
        );
        let shown = presentable_error(error);
        assert!(!format!("{shown} {shown:?}").contains("hidden"), "{shown}");
    }
}
