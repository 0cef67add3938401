//! The OpenAPI document: against its golden file, and against the calls that each configuration serves.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::support::{Gateway, kafka_command, store};

/// After an intended change: `waggle-gateway openapi > gateway/gateway/tests/openapi.json`.
const GOLDEN: &str = "tests/openapi.json";

#[test]
fn the_document_matches_its_golden_file() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    let golden = std::fs::read_to_string(golden).unwrap();
    let actual = printed_document(&[]);
    for (number, (actual, golden)) in (1..).zip(actual.lines().zip(golden.lines())) {
        assert_eq!(actual, golden, "line {number}");
    }
    assert_eq!(actual.lines().count(), golden.lines().count());
}

fn printed_document(flags: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_waggle-gateway"))
        .arg("openapi")
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Flags of a gateway on Kafka. Neither broker nor database need answer.
const ON_KAFKA: [&str; 2] = ["--backend=kafka", "--kafka-brokers=127.0.0.1:1"];
const WITH_DATABASE: [&str; 3] = [
    "--influxdb-url=http://127.0.0.1:1",
    "--influxdb-org=o",
    "--influxdb-bucket=b",
];

fn kafka_gateway(flags: &[&str]) -> Gateway {
    let mut command = kafka_command("127.0.0.1:1", flags);
    Gateway::start_by(command.env("INFLUX_TOKEN", "x"))
}

/// The gateway serves the calls of its document, `count` of them, and the program prints the same document for the same flags.
#[track_caller]
fn check(gateway: &Gateway, flags: &[&str], count: usize) {
    let served = gateway.get("/documentation/json").body;
    assert_eq!(served.trim_end(), printed_document(flags).trim_end());
    let document: Value = serde_json::from_str(&served).unwrap();
    let mut names = std::collections::HashSet::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        let target = path.replace("{topic}", "t");
        for method in ["get", "put", "post", "delete", "patch"] {
            let request = format!(
                "{} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                method.to_uppercase()
            );
            let answer = gateway.ask(&request);
            let status = answer.status;
            let Some(call) = calls.get(method) else {
                assert_eq!(status, 405, "{method} {path}");
                assert!(answer.header("allow").is_some(), "{method} {path}");
                continue;
            };
            assert!(
                call["responses"].get(status.to_string()).is_some(),
                "{method} {path}: {status} is not documented"
            );
            assert!(
                names.insert(call["operationId"].as_str().unwrap().to_owned()),
                "{method} {path}: the name is taken"
            );
        }
    }
    assert_eq!(names.len(), count, "{names:?}");
}

#[test]
fn exactly_the_documented_calls_are_served() {
    let (_folder, file) = store();
    check(&Gateway::start(&file, &[]), &[], 17);
    let (_folder, file) = store();
    let flags = ["--latest-max-series=0"];
    check(&Gateway::start(&file, &flags), &flags, 16);
    check(&kafka_gateway(&[]), &ON_KAFKA, 15);
    let flags = [&ON_KAFKA[..], &WITH_DATABASE].concat();
    check(&kafka_gateway(&WITH_DATABASE), &flags, 16);
    let pass = ["--query-pass-through"];
    let flags = [&flags[..], &pass].concat();
    let gateway = kafka_gateway(&[&WITH_DATABASE[..], &pass].concat());
    check(&gateway, &flags, 17);
}

#[test]
fn calls_that_a_configuration_does_not_serve_name_the_flag() {
    let (_folder, file) = store();
    let embedded = Gateway::start(&file, &["--latest-max-series=0"]);
    let on_kafka = kafka_gateway(&[]);
    for (gateway, call, status, flag) in [
        (&embedded, "POST /api/v1/query", 405, "--query-pass-through"),
        (
            &embedded,
            "GET /api/v1/topics/t/latest",
            404,
            "--latest-max-series",
        ),
        (
            &on_kafka,
            "GET /api/v1/topics/t/records",
            405,
            "--backend kafka",
        ),
        (&on_kafka, "GET /api/v1/query", 404, "--influxdb-url"),
        (&on_kafka, "POST /api/v1/query", 404, "--query-pass-through"),
    ] {
        let request = format!("{call} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        let answer = gateway.ask(&request);
        assert_eq!(answer.status, status, "{call}");
        assert!(answer.body.contains(flag), "{call}: {}", answer.body);
    }
}

#[test]
fn a_gateway_with_clients_documents_its_token() {
    let document: Value = serde_json::from_str(&printed_document(&["--clients=x"])).unwrap();
    assert_eq!(
        document["components"]["securitySchemes"]["token"]["scheme"],
        "bearer"
    );
    let paths = &document["paths"];
    let write = &paths["/api/v1/topics/{topic}/records"]["put"];
    assert!(write["security"][0]["token"].is_array(), "{write}");
    for status in ["401", "403", "429"] {
        assert!(write["responses"][status].is_object(), "{status}");
    }
    assert!(paths["/readyz"]["get"]["security"].is_null());
}
