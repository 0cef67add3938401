//! What dependencies may be: cargo-deny by the rules of `deny.toml`, and known vulnerabilities where their database is reached.

use std::process::Command;

use anyhow::{Result, bail};

use crate::steps::{Root, Steps};

/// The database of vulnerabilities is fetched by git, which waits for minutes for a network that does not answer.
const DATABASE_TIMEOUT_SECONDS: &str = "120";
const NO_DATABASE: &str =
    "dependencies were not checked for known vulnerabilities: RustSec's database was not reached";

/// Checks the rules, and notes the vulnerabilities as not tested if their database is not reached.
pub(crate) fn deny(root: &Root, steps: &mut Steps) {
    steps.run("deny", || check_rules(root));
    let is_there = Command::new("timeout")
        .args([DATABASE_TIMEOUT_SECONDS, "scripts/deny", "fetch", "db"])
        .current_dir(root.path())
        .output()
        .is_ok_and(|output| output.status.success());
    if is_there {
        let check = ["--locked", "--offline", "check", "advisories"];
        steps.run_part("advisories", "cargo xtask deny", || {
            cargo_deny(root, &check)
        });
    } else {
        steps.note_not_tested(vec![NO_DATABASE.to_owned()]);
    }
}

/// Licences, what is kept out, and sources, of the workspace; of the fuzz targets, which nobody is given, the last two.
fn check_rules(root: &Root) -> Result<()> {
    cargo_deny(root, &["--locked", "check", "licenses", "bans", "sources"])?;
    let fuzz = ["--manifest-path", "fuzz/Cargo.toml", "--locked"];
    let checks = ["--config", "deny.toml", "check", "bans", "sources"];
    cargo_deny(root, &[&fuzz[..], &checks].concat())
}

fn cargo_deny(root: &Root, arguments: &[&str]) -> Result<()> {
    let status = Command::new(root.path().join("scripts/deny"))
        .args(arguments)
        .status()?;
    if !status.success() {
        bail!("scripts/deny {} ended with {status}", arguments.join(" "));
    }
    Ok(())
}
