//! Looks at every file of the project and at its crates, and tells what breaks a rule. The rules are in `rules`.

use std::{collections::BTreeMap, fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    rules::{self, Breach},
    steps::{Root, cargo_program},
};

/// Checks every rule; the error lists all that is broken.
pub(crate) fn tidy(root: &Root) -> Result<()> {
    let mut breaches = Vec::new();
    for file in files(root)? {
        // Files that are no text (images, archives) have no rules; a link to nowhere is not there.
        let Ok(text) = fs::read_to_string(root.path().join(&file)) else {
            continue;
        };
        breaches.extend(rules::file(&file, &text));
    }
    breaches.extend(rules::arrows(&arrows(root)?));
    if breaches.is_empty() {
        return Ok(());
    }
    let listed: Vec<String> = breaches.iter().map(Breach::to_string).collect();
    bail!("{}", listed.join("\n"))
}

/// Every file that is or could be committed.
fn files(root: &Root) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = root.output(&mut git)?;
    Ok(listed
        .split('\0')
        .filter(|file| !file.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Each package of the workspace with those of its dependencies that lie in this project.
fn arrows(root: &Root) -> Result<BTreeMap<String, Vec<String>>> {
    let mut cargo = Command::new(cargo_program());
    cargo.args(["metadata", "--no-deps", "--format-version=1"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&root.output(&mut cargo)?).context("reading cargo's metadata")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo's metadata has no packages")?;
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    let ours = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        dependencies
            .filter(|dependency| dependency["path"].is_string())
            .map(name)
            .collect()
    };
    Ok(packages
        .iter()
        .map(|package| (name(package), ours(package)))
        .collect())
}
