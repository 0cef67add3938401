//! Flags and files, and the configuration from them.

use std::collections::HashMap;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Program {
    #[arg(long)]
    kafka_brokers: Option<String>,
    #[command(flatten)]
    settings: SecuritySettings,
}

/// The access of these flags; `FOLDER` in them is the folder of the test.
fn access(folder: &Path, flags: &str) -> Result<Access, AccessError> {
    let flags = flags.replace("FOLDER", folder.to_str().unwrap());
    let all = ["program", "--kafka-brokers=a:1"].into_iter();
    let settings = Program::try_parse_from(all.chain(flags.split_whitespace()))
        .unwrap()
        .settings;
    let variables = HashMap::from([("KAFKA_PASSWORD", "of-environment")]);
    let lookup = |name: &str| variables.get(name).map(|&value| value.to_owned());
    Access::new("a:1", &settings, lookup)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("password", "of-file\n"),
        ("empty", "\n"),
        ("token", "opaque\n"),
        ("two-lines", "a\nb\n"),
        ("certificate", "-----BEGIN CERTIFICATE-----\n"),
        ("key", "-----BEGIN PRIVATE KEY-----\n"),
        ("locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const PLAIN: &str = "--kafka-security-protocol=sasl_plaintext --kafka-sasl-mechanism=plain";

#[test]
fn the_configuration_has_what_the_flags_say() {
    let folder = folder();
    let config = |flags: &str| access(folder.path(), flags).unwrap().client_config();
    let bare = config("");
    assert_eq!(bare.get("bootstrap.servers"), Some("a:1"));
    assert_eq!(bare.get("security.protocol"), None);
    let plain = config(&format!("{PLAIN} --kafka-username=plant"));
    assert_eq!(plain.get("security.protocol"), Some("sasl_plaintext"));
    assert_eq!(plain.get("sasl.mechanism"), Some("PLAIN"));
    assert_eq!(plain.get("sasl.username"), Some("plant"));
    assert_eq!(plain.get("sasl.password"), Some("of-environment"));
    assert_eq!(plain.get("ssl.ca.location"), None);
}

#[cfg(feature = "tls")]
#[test]
fn tls_is_checked_by_the_authority_of_the_flag_or_the_system() {
    let folder = folder();
    let config = |flags: &str| access(folder.path(), flags).unwrap().client_config();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let system = config("--kafka-security-protocol=ssl");
    assert_eq!(system.get("ssl.ca.location"), Some("probe"));
    let mutual = config(
        "--kafka-security-protocol=ssl --kafka-ca=FOLDER/certificate --kafka-certificate=FOLDER/certificate \
         --kafka-key=FOLDER/locked --kafka-key-password-file=FOLDER/password",
    );
    assert_eq!(mutual.get("ssl.ca.location"), Some(&*file("certificate")));
    assert_eq!(mutual.get("ssl.key.location"), Some(&*file("locked")));
    assert_eq!(mutual.get("ssl.key.password"), Some("of-file"));
    let token = config(
        "--kafka-security-protocol=sasl_ssl --kafka-sasl-mechanism=OAUTHBEARER --kafka-token-file=FOLDER/token",
    );
    assert_eq!(token.get("sasl.mechanism"), Some("OAUTHBEARER"));
    assert_eq!(token.get("sasl.password"), None);
}

#[test]
fn flags_that_do_not_fit_are_refused_with_a_reason() {
    let folder = folder();
    let check = |flags: &str, expected: &str| {
        let error = access(folder.path(), flags).unwrap_err().to_string();
        assert!(error.contains(expected), "{flags}: {error}");
    };
    let user = format!("{PLAIN} --kafka-username=plant --kafka-password-file=FOLDER");
    check(PLAIN, "--kafka-username: expected the name of a user");
    check(
        "--kafka-security-protocol=sasl_plaintext",
        "--kafka-sasl-mechanism: expected a mechanism",
    );
    check(
        "--kafka-sasl-mechanism=PLAIN --kafka-username=plant",
        "--kafka-sasl-mechanism: expected --kafka-security-protocol",
    );
    check("--kafka-username=plant", "--kafka-username: expected");
    check(
        "--kafka-ca=FOLDER/certificate",
        "--kafka-ca: expected --kafka-security-protocol ssl",
    );
    check(
        &format!("{PLAIN} --kafka-username=a --kafka-token-file=FOLDER/token"),
        "--kafka-token-file: expected --kafka-sasl-mechanism OAUTHBEARER",
    );
    check(&format!("{user}/nothing"), "--kafka-password-file: reading");
    check(&format!("{user}/empty"), "expected a line of text");
    check(&format!("{user}/two-lines"), "expected a line of text");
}

#[cfg(not(feature = "tls"))]
#[test]
fn what_this_build_lacks_is_refused() {
    let folder = folder();
    for flags in [
        "--kafka-security-protocol=ssl",
        "--kafka-security-protocol=sasl_ssl --kafka-sasl-mechanism=PLAIN --kafka-username=a",
        "--kafka-security-protocol=sasl_plaintext --kafka-sasl-mechanism=SCRAM-SHA-256 --kafka-username=a",
        "--kafka-security-protocol=sasl_plaintext --kafka-sasl-mechanism=OAUTHBEARER --kafka-token-file=FOLDER/token",
    ] {
        let error = access(folder.path(), flags).unwrap_err().to_string();
        assert!(error.contains("feature kafka-tls"), "{flags}: {error}");
    }
}

#[cfg(feature = "tls")]
#[test]
fn files_that_are_not_what_they_should_be_are_refused() {
    let folder = folder();
    let check = |flags: &str, expected: &str| {
        let flags = format!("--kafka-security-protocol=ssl {flags}");
        let error = access(folder.path(), &flags).unwrap_err().to_string();
        assert!(error.contains(expected), "{flags}: {error}");
    };
    check("--kafka-ca=FOLDER/key", "expected a certificate in PEM");
    check(
        "--kafka-certificate=FOLDER/certificate --kafka-key=FOLDER/certificate",
        "--kafka-key: ",
    );
    check(
        "--kafka-certificate=FOLDER/certificate --kafka-key=FOLDER/locked",
        "--kafka-key-password-file: expected",
    );
}

#[test]
fn changed_files_ask_for_new_clients() {
    let folder = folder();
    let file = folder.path().join("password");
    let flags = format!("{PLAIN} --kafka-username=a --kafka-password-file=FOLDER/password");
    let access = access(folder.path(), &flags).unwrap();
    assert_eq!(access.client_config().get("sasl.password"), Some("of-file"));
    assert!(!access.renew().unwrap());
    std::fs::write(&file, "new").unwrap();
    assert!(access.renew().unwrap());
    assert!(!access.renew().unwrap());
    assert_eq!(access.client_config().get("sasl.password"), Some("new"));
    assert!(access.is_current());
    std::fs::write(&file, "").unwrap();
    let error = access.renew().unwrap_err().to_string();
    assert!(error.contains("--kafka-password-file"), "{error}");
    assert!(!access.is_current());
    std::fs::write(&file, "new").unwrap();
    assert!(!access.renew().unwrap() && access.is_current());
    assert_eq!(access.client_config().get("sasl.password"), Some("new"));
}

#[test]
fn secrets_are_in_no_output() {
    let folder = folder();
    let file = folder.path().join("password");
    std::fs::write(&file, "hid\u{1}den").unwrap();
    let flags = format!("{PLAIN} --kafka-username=a --kafka-password-file=FOLDER/password");
    let error = access(folder.path(), &flags).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("den"), "{error:?}");
    std::fs::write(&file, "hidden").unwrap();
    let access = access(folder.path(), &flags).unwrap();
    assert!(!format!("{access:?}").contains("hidden"), "{access:?}");
}
