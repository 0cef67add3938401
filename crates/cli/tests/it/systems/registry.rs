//! System `registry` on real servers: over each storage it starts, passes its functional check and stops, with nothing left.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use waggle_testkit::wait_until;

use crate::{
    shipped_studies::{assert_none_missing, number},
    systems::{comes_and_goes, webapp::run_changed_study},
};

/// The answer to one request to an endpoint of a system that is up.
fn get(text: &str, endpoint: &str, path: &str) -> String {
    let of_endpoint = format!("  {endpoint} ");
    let entry = text
        .lines()
        .find_map(|line| line.strip_prefix(&of_endpoint));
    let address = entry.unwrap_or_else(|| panic!("{text}")).trim();
    let address = address.strip_prefix("http://").unwrap_or(address);
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The functional check leaves nothing behind, and deletes are allowed.
fn check(storage: &str) {
    comes_and_goes("registry", &[&format!("storage={storage}")], |text| {
        let answer = get(
            text,
            "registry",
            "/apis/registry/v3/search/artifacts?limit=1",
        );
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("\"count\":0"), "{answer}");
        let info = get(text, "registry", "/apis/registry/v3/system/info");
        assert!(info.contains("\"version\":\"3.3.3\""), "{info}");
    });
}

/// Locust begins with the last step of the functional check, and leaves no process.
#[test]
fn locust_reads_what_it_has_made() {
    for tool in ["locust-http", "locust-fast"] {
        let levels = [
            "storage=memory",
            &format!("load_tool={tool}"),
            "locust_followers=2",
            "locust_artifacts=5",
        ];
        comes_and_goes("registry", &levels, |text| {
            let mut stats = serde_json::Value::Null;
            wait_until("Locust shows its rate", || {
                let answer = get(text, "locust", "/stats/requests");
                let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
                stats = serde_json::from_str(body.unwrap_or_default()).unwrap_or_default();
                stats["current_rps"].as_f64() > Some(0.0)
            });
            assert_eq!(stats["worker_count"], 2, "{stats}");
            assert_eq!(stats["fail_ratio"].as_f64(), Some(0.0), "{stats}");
            let artifacts = get(
                text,
                "registry",
                "/apis/registry/v3/search/artifacts?limit=1",
            );
            assert!(artifacts.contains("\"count\":5"), "{artifacts}");
        });
    }
}

#[test]
fn starts_works_and_stops_in_memory() {
    check("memory");
}

#[test]
fn starts_works_and_stops_with_a_file() {
    check("h2");
}

#[test]
fn starts_works_and_stops_over_postgresql() {
    check("postgresql");
}

#[test]
fn starts_works_and_stops_over_mariadb() {
    check("mariadb");
}

#[test]
fn starts_works_and_stops_over_kafka() {
    check("kafka");
}

/// Versions are written on several connections while the registry is read, and all of them are there in the end, each once.
#[test]
fn every_version_that_was_confirmed_is_there() {
    let changes = [
        ("storage: [postgresql, kafka]", "storage: [memory]"),
        ("sessions: 1000", "sessions: 50"),
        ("equals: \"1000\"", "equals: \"50\""),
        ("rows: 1000,", "rows: 50,"),
        ("weight: 20", "weight: 1"),
        ("measure: 15s", "measure: 3s"),
    ];
    let trials = run_changed_study("registry-writes.yaml", &changes, &[]);
    assert_eq!(trials.len(), 1, "{trials:?}");
    assert_none_missing(&trials[0]);
    for column in ["records_duplicates", "records_unexpected"] {
        assert_eq!(number(&trials[0], column), 0, "{:?}", trials[0]);
    }
}
