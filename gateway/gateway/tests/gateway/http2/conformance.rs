//! h2spec sends what the standard allows and what it does not, and judges what the gateway makes of it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::identity::Secured;
use crate::support::{Gateway, store};

/// Cases that fail, with the reason: their section and what they are about, as h2spec writes them.
const EXCEPTIONS: [(&str, &str); 2] = [
    (
        "Sends invalid connection preface",
        "the port speaks HTTP/1.1, too: what does not begin with the preface gets its 400 or 505, and the connection is closed",
    ),
    (
        "Sends PRIORITY frame that depend on itself",
        "RFC 9113 has withdrawn dependencies (section 5.3.2), and a stream that is idle cannot be reset (section 6.4)",
    ),
];

/// The program, which a script builds.
fn program() -> PathBuf {
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/h2spec/fetch");
    let folder = Command::new(fetch).arg("--folder").output().unwrap();
    let folder = String::from_utf8(folder.stdout).unwrap();
    let program = Path::new(folder.trim()).join("h2spec");
    assert!(
        program.is_file(),
        "h2spec is not there: tests/h2spec/fetch builds it"
    );
    program
}

#[test]
fn h2spec_finds_nothing_but_what_is_known() {
    let (_folder, file) = store();
    check(&Gateway::start(&file, &[]), &[]);
}

#[test]
fn h2spec_finds_nothing_else_over_tls() {
    let secured = Secured::start(&[]);
    check(&secured.gateway, &["--tls", "--insecure"]);
}

fn check(gateway: &Gateway, flags: &[&str]) {
    let output = Command::new("timeout")
        .args(["--kill-after=5", "300"])
        .arg(program())
        .args([
            "--host=127.0.0.1",
            "--path=/healthz",
            "--timeout=5",
            "--strict",
        ])
        .args(flags)
        .arg(format!("--port={}", gateway.address.port()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let (_, failures) = said.split_once("Failures:").unwrap_or_default();
    let failed = failures
        .lines()
        .filter(|line| line.trim_start().starts_with('×'));
    let unknown: Vec<&str> = failed
        .filter(|line| !EXCEPTIONS.iter().any(|(case, _)| line.contains(case)))
        .collect();
    assert_eq!(unknown, [""; 0], "{said}");
    // Something ran.
    let count = said
        .lines()
        .rev()
        .find_map(|line| line.strip_suffix(" failed"));
    let passed = count.and_then(|line| line.split(' ').nth(2)?.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed >= 140), "{said}");
}
