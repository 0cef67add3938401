//! Systems whose ports speak TLS: everything that waggle sends to them is encrypted, and no key is left anywhere.

use std::{
    fs,
    path::{Path, PathBuf},
};

use waggle_results::{Run, TrialEnd};

use super::{Bench, DELIVERY, log, one_store, study};

/// The store behind TLS; `tls` is its argument, `port` how waggle connects to it.
fn encrypted_store(tls: &str, port: &str) -> String {
    let system = one_store(&format!("['STORE', '${{port.http}}', '{tls}']"));
    let port = format!("    ports: [http]\n    tls: {{ http: {port} }}\n");
    system
        .replace("    ports: [http]\n", &port)
        .replace(
            "components:",
            "certificates: { store: { hosts: [store.test] }, admin: { organizations: [a, b] } }\ncomponents:",
        )
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

/// The trial succeeded, with all of its records followed, over TLS.
fn check_encrypted(run: &Run) {
    let info = &run.trials[0].info;
    assert_eq!(info.end, TrialEnd::Completed);
    assert!(
        info.totals.succeeded > 0 && info.totals.failed == 0,
        "{info:?}"
    );
    assert!(info.connecting.unwrap().handshakes > 0, "{info:?}");
    let ledger = info.ledger.clone().unwrap();
    assert_eq!((ledger.delivered, ledger.missing), (ledger.sent, 0));
}

#[test]
fn load_checks_and_probes_of_a_port_with_tls_are_encrypted_and_no_key_stays() {
    let files_of_tls = "tls=${certificate.store.cert},${certificate.store.key},${ca.cert}";
    let system = encrypted_store(files_of_tls, "{ client: admin, server_name: store.test }");
    let bench = Bench::new(&system, &study("one-store", DELIVERY));
    check_encrypted(&bench.results());
    for file in files(bench.folder.path()) {
        let content = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains("PRIVATE KEY"), "{}", file.display());
        assert!(!text.contains("BEGIN CERTIFICATE"), "{}", file.display());
    }
}

#[test]
fn a_secret_of_the_system_in_a_header_of_the_load_is_put_in_and_shown_nowhere() {
    let command = "['STORE', '${port.http}'], environment: { TOKEN: '${secret.token}' }";
    let header = |token: &str| {
        let header = format!("    endpoint: records\n    headers: {{ Authorization: '{token}' }}");
        study("one-store", DELIVERY).replace("    endpoint: records", &header)
    };
    let run = Bench::new(&one_store(command), &header("Bearer ${secret.token}")).results();
    let info = &run.trials[0].info;
    assert_eq!(info.end, TrialEnd::Completed);
    assert!(
        info.totals.succeeded > 0 && info.totals.failed == 0,
        "{info:?}"
    );
    let bench = Bench::new(&one_store(command), &header("x ${secret.token}"));
    let run = bench.results();
    assert_eq!(run.trials[0].info.totals.succeeded, 0);
    let log = log(&run, "store-0");
    let expected = "Some(\"x [secret token]\") and not [secret token]";
    assert!(log.starts_with(expected), "{log}");
}

#[test]
fn an_authority_that_the_component_writes_is_trusted() {
    let system = encrypted_store("own-tls=${dir}/ca.pem", "{ ca: '${dir}/ca.pem' }");
    check_encrypted(&Bench::new(&system, &study("one-store", DELIVERY)).results());
}

#[test]
fn a_port_with_the_certificate_of_another_authority_is_not_ready_and_the_reason_names_what_helps() {
    let run = Bench::new(
        &encrypted_store("own-tls=${dir}/ca.pem", "{}"),
        &study("one-store", ""),
    )
    .results();
    let TrialEnd::Failed { reason, .. } = &run.trials[0].info.end else {
        panic!("it did not fail");
    };
    assert!(
        reason.contains("name the authority that signed it (ca)"),
        "{reason}"
    );
}
