//! Schemathesis tests gateways by their own documents, with all of its checks: what a document allows is taken, what it does not
//! allow is refused, and every answer is one of the document's.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use waggle_testkit::http::{Reply, Server, answer};

use crate::{
    kafka::shared_broker,
    support::{Gateway, kafka_command, store},
};

/// The module with bodies that no schema describes, and the pinned versions.
const FOLDER: &str = "tests/schemathesis";

fn program() -> PathBuf {
    let path = std::env::var_os("WAGGLE_SCHEMATHESIS").map(PathBuf::from);
    let path = path.unwrap_or_else(|| {
        panic!("Schemathesis is not there: `scripts/test` installs it; or install gateway/gateway/{FOLDER}/requirements.txt by pip into a venv and name its bin/schemathesis by WAGGLE_SCHEMATHESIS")
    });
    assert!(
        path.is_file(),
        "WAGGLE_SCHEMATHESIS: {} is not there: `scripts/test` installs it",
        path.display()
    );
    path
}

/// Tests the calls whose path matches; their requests come from a fixed seed, so that each run sends the same.
/// Timeout of a run that hangs, in seconds.
const AT_MOST_S: &str = "900";

#[track_caller]
fn check(gateway: &Gateway, paths: &str) {
    let document = format!("http://{}/documentation/json", gateway.address);
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=5", AT_MOST_S])
        .arg(program())
        .args([
            "run",
            &document,
            "--checks=all",
            "--workers=1",
            "--no-color",
        ])
        .args([
            "--seed=1",
            "--generation-deterministic",
            "--max-examples=40",
        ])
        .args(["--include-path-regex", paths])
        .current_dir(&folder)
        .env(
            "PYTHONPATH",
            Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER),
        )
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("no_proxy", "127.0.0.1")
        .env("SCHEMATHESIS_HOOKS", "bodies")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn embedded_gateways_do_what_their_document_says() {
    let (_folder, file) = store();
    check(&Gateway::start(&file, &[]), ".");
}

#[test]
fn gateways_on_kafka_do_what_their_document_says() {
    let kafka = shared_broker();
    let flags = ["--kafka-delivery-timeout=1m", "--kafka-partitions=1"];
    check(
        &Gateway::start_by(&mut kafka_command(&kafka.brokers(), &flags)),
        ".",
    );
}

/// The database is a fake that has no records. Texts that are passed on are not tested: the database decides which of them it takes.
#[test]
fn queries_on_a_database_do_what_their_document_says() {
    let database = Server::start(|_| Reply::Answer(answer(200, "Content-Type: text/csv\r\n", "")));
    let url = format!("--influxdb-url=http://{}", database.address);
    let flags = [&*url, "--influxdb-org=o", "--influxdb-bucket=b"];
    let mut command = kafka_command("127.0.0.1:1", &flags);
    let gateway = Gateway::start_by(command.env("INFLUX_TOKEN", "x"));
    check(&gateway, "/query$");
}
