//! No shipped system writes an address of its own, so that the same file is processes of this machine and pods of a cluster.

use std::{fs, path::Path};

const SYSTEMS: [&str; 4] = ["ingest", "webapp", "registry", "technologies"];
const ADDRESSES: [&str; 4] = ["127.0.0.1", "localhost", "::1", "0.0.0.0"];
/// What is built and fetched elsewhere, and what is not run: sources of other programs.
const NOT_RUN: [&str; 2] = ["fetch", "package-lock.json"];
/// Where a program talks to itself alone, which it does over the loopback address in a pod, too.
const WITHIN_A_REPLICA: [(&str, &str); 4] = [
    ("start-rabbitmq", "HOSTNAME=localhost"),
    ("start-rabbitmq", "ERL_EPMD_ADDRESS=127.0.0.1"),
    ("start-rabbitmq", "inet_dist_use_interface"),
    ("start-rabbitmq", "-address 127.0.0.1"),
];

/// The lines of a folder's files that write an address.
fn lines_with_addresses(folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if NOT_RUN.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            lines_with_addresses(&path, lines);
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let is_within = |(file, text): &(&str, &str)| *file == name && line.contains(text);
            let is_comment = ["#", "//", "%%"]
                .iter()
                .any(|sign| line.trim_start().starts_with(sign));
            let is_written = ADDRESSES.iter().any(|address| line.contains(address));
            if is_written && !is_comment && !WITHIN_A_REPLICA.iter().any(is_within) {
                lines.push(format!("{}: {line}", path.display()));
            }
        }
    }
}

#[test]
fn no_shipped_system_that_can_be_pods_writes_a_loopback_address() {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let mut lines = Vec::new();
    for system in SYSTEMS {
        lines_with_addresses(&systems.join(system), &mut lines);
    }
    assert!(lines.is_empty(), "{lines:#?}");
}
