//! System `registry` on real servers: over each storage it starts, passes its functional check and stops, with nothing left.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::systems::comes_and_goes;

/// The answer to one request to the registry of a system that is up.
fn get(text: &str, path: &str) -> String {
    let registry = text
        .lines()
        .find_map(|line| line.strip_prefix("  registry "));
    let address = registry.unwrap_or_else(|| panic!("{text}")).trim();
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
        let answer = get(text, "/apis/registry/v3/search/artifacts?limit=1");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("\"count\":0"), "{answer}");
        let info = get(text, "/apis/registry/v3/system/info");
        assert!(info.contains("\"version\":\"3.3.3\""), "{info}");
    });
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
