//! Checks every file of the project and its crates, and reports what breaks a rule. The rules are in `rules`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    circles::{self, Sources},
    links, rooms,
    rules::{self, Breach},
    steps::{Root, cargo_program},
};

/// Checks every rule; the error lists all breaches.
pub(crate) fn tidy(root: &Root) -> Result<()> {
    let mut breaches = Vec::new();
    let mut sources = Sources::new();
    let mut pages = BTreeMap::new();
    let files = files(root)?;
    for file in &files {
        // Files that are not text (images, archives) have no rules; a dangling link is skipped.
        let Ok(text) = fs::read_to_string(root.path().join(file)) else {
            continue;
        };
        breaches.extend(rules::file(file, &text));
        if file.ends_with(".rs") {
            sources.insert(file.clone(), text);
        } else if links::is_page(file) {
            pages.insert(file.clone(), text);
        }
    }
    breaches.extend(links::breaches(&pages, &files));
    breaches.extend(rooms::folders(&files));
    let orders = rooms::orders(pages.get(rooms::ARCHITECTURE).map_or("", String::as_str));
    if orders.is_empty() {
        bail!("{} lists no rooms", rooms::ARCHITECTURE);
    }
    let packages = packages(root)?;
    breaches.extend(rules::arrows(&arrows(&packages)));
    for package in &packages {
        let imports = circles::imports(&package.roots, &sources)
            .with_context(|| format!("reading the sources of {}", package.name))?;
        for imports in &imports {
            let circles = circles::circles(imports);
            breaches.extend(circles::breaches(&package.name, &circles));
            breaches.extend(rooms::upward_imports(&orders, &package.name, imports));
        }
    }
    if breaches.is_empty() {
        return Ok(());
    }
    let listed: Vec<String> = breaches.iter().map(Breach::to_string).collect();
    bail!("{}", listed.join("\n"))
}

/// The pages of the documentation, by path.
pub(crate) fn pages(root: &Root) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for file in files(root)? {
        // One that was removed is still listed.
        if links::is_page(&file)
            && let Ok(text) = fs::read_to_string(root.path().join(&file))
        {
            pages.insert(file, text);
        }
    }
    Ok(pages)
}

/// Every file that is or could be committed.
fn files(root: &Root) -> Result<BTreeSet<String>> {
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

/// A package of the workspace.
struct Package {
    name: String,
    /// Its dependencies within this project.
    uses: Vec<String>,
    /// The root files of its library and programs.
    roots: Vec<String>,
}

fn packages(root: &Root) -> Result<Vec<Package>> {
    let mut cargo = Command::new(cargo_program());
    cargo.args(["metadata", "--no-deps", "--format-version=1"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&root.output(&mut cargo)?).context("reading cargo's metadata")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo's metadata has no packages")?;
    Ok(packages.iter().map(|value| package(root, value)).collect())
}

fn package(root: &Root, value: &serde_json::Value) -> Package {
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    let dependencies = value["dependencies"].as_array().into_iter().flatten();
    let targets = value["targets"].as_array().into_iter().flatten();
    let is_source = |target: &&serde_json::Value| {
        let mut kinds = target["kind"].as_array().into_iter().flatten();
        kinds.any(|kind| matches!(kind.as_str(), Some("lib" | "bin")))
    };
    let file = |target: &serde_json::Value| {
        let path = Path::new(target["src_path"].as_str()?);
        Some(path.strip_prefix(root.path()).ok()?.to_str()?.to_owned())
    };
    Package {
        name: name(value),
        uses: dependencies
            .filter(|dependency| dependency["path"].is_string())
            .map(name)
            .collect(),
        roots: targets.filter(is_source).filter_map(file).collect(),
    }
}

/// Each package with those that it uses.
fn arrows(packages: &[Package]) -> BTreeMap<String, Vec<String>> {
    packages
        .iter()
        .map(|package| (package.name.clone(), package.uses.clone()))
        .collect()
}
