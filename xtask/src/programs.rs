//! Test programs that `cargo test --no-run` has built, and how to run each alone. `suite` runs them.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::{FEATURES, Root, cargo_program, package_features};

/// A test program of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) package: String,
    /// Its target option for cargo: `--lib`, `--test it`.
    pub(crate) target: String,
    pub(crate) file: PathBuf,
    /// The package's folder, in which cargo runs it.
    pub(crate) folder: PathBuf,
    pub(crate) tests: Tests,
}

/// Which tests of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    All,
    /// Those that have a word in their name.
    With(&'static str),
    Without(&'static str),
}

/// Builds all tests, with the programs and examples that they start.
pub(crate) fn build(root: &Root) -> Result<Vec<Program>> {
    let names = packages(root)?;
    let mut cargo = Command::new(cargo_program());
    cargo
        .args(["test", "--workspace", "--locked", "--no-run", FEATURES])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root.path())
        .stderr(Stdio::inherit());
    let output = cargo.output().context("starting cargo")?;
    if !output.status.success() {
        bail!("building the tests ended with {}", output.status);
    }
    let messages = String::from_utf8(output.stdout).context("reading cargo's messages")?;
    programs(&messages, &names)
}

/// The name of each package, by its manifest.
fn packages(root: &Root) -> Result<BTreeMap<String, String>> {
    let mut cargo = Command::new(cargo_program());
    cargo.args(["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value =
        serde_json::from_str(&root.output(&mut cargo)?).context("reading cargo's metadata")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo's metadata has no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(packages
        .iter()
        .map(|package| (text(&package["manifest_path"]), text(&package["name"])))
        .collect())
}

/// The test programs in cargo's messages, one message per line.
fn programs(messages: &str, names: &BTreeMap<String, String>) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)
            .with_context(|| format!("reading cargo's message {line}"))?;
        let is_test = message["profile"]["test"] == true;
        let (true, Some(file)) = (is_test, message["executable"].as_str()) else {
            continue;
        };
        let manifest = message["manifest_path"].as_str().unwrap_or_default();
        let package = names
            .get(manifest)
            .with_context(|| format!("{manifest} is no manifest of this workspace"))?;
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let target = match message["target"]["kind"][0].as_str() {
            Some("bin") => format!("--bin {name}"),
            Some("test") => format!("--test {name}"),
            Some("example") => format!("--example {name}"),
            Some("bench") => format!("--bench {name}"),
            _ => "--lib".to_owned(),
        };
        let folder = PathBuf::from(manifest);
        programs.push(Program {
            package: package.clone(),
            target,
            file: file.into(),
            folder: folder.parent().context("a manifest has a folder")?.into(),
            tests: Tests::All,
        });
    }
    if programs.is_empty() {
        bail!("cargo named no test program");
    }
    Ok(programs)
}

impl Program {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .args(self.tests.arguments());
        command
    }

    /// The command that runs all of it.
    pub(crate) fn full_command(&self) -> String {
        match self.tests {
            Tests::All => self.cargo_command(),
            tests => format!(
                "{} -- {}",
                self.cargo_command(),
                tests.arguments().join(" ")
            ),
        }
    }

    fn cargo_command(&self) -> String {
        let (package, target) = (&self.package, &self.target);
        let features = package_features(package)
            .map(|features| format!(" {features}"))
            .unwrap_or_default();
        let test = format!("cargo test -p {package}{features} {target}");
        // If one target is named, cargo does not build the examples that its tests start.
        if target.starts_with("--test") {
            format!("cargo build -p {package}{features} --examples && {test}")
        } else {
            test
        }
    }

    /// The command that runs one of its tests.
    pub(crate) fn test_alone(&self, test: &str) -> String {
        format!("{} -- --exact {test}", self.cargo_command())
    }
}

impl Tests {
    fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::All => Vec::new(),
            Self::With(word) => vec![word],
            Self::Without(word) => vec!["--skip", word],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Program, Tests, programs};

    #[test]
    fn programs_are_named_as_cargo_names_them() {
        let names = BTreeMap::from([("/p/crates/a/Cargo.toml".to_owned(), "waggle-a".to_owned())]);
        let message = |kind: &str, name: &str, is_test: bool, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/p/crates/a/Cargo.toml\",\
                 \"target\":{{\"kind\":[\"{kind}\"],\"name\":\"{name}\"}},\
                 \"profile\":{{\"test\":{is_test}}},\"executable\":{executable}}}"
            )
        };
        let messages = [
            message("lib", "waggle_a", false, "null"),
            message("bin", "a", false, "\"/t/a\""),
            message("lib", "waggle_a", true, "\"/t/lib\""),
            message("bin", "a", true, "\"/t/bin\""),
            message("test", "it", true, "\"/t/it\""),
            "{\"reason\":\"build-finished\",\"success\":true}".to_owned(),
        ];
        let entries = programs(&messages.join("\n"), &names).unwrap();
        let alone: Vec<String> = entries.iter().map(Program::full_command).collect();
        assert_eq!(
            alone,
            [
                "cargo test -p waggle-a --lib",
                "cargo test -p waggle-a --bin a",
                "cargo build -p waggle-a --examples && cargo test -p waggle-a --test it"
            ]
        );
        assert_eq!(
            entries[2].test_alone("load::stops"),
            "cargo build -p waggle-a --examples && cargo test -p waggle-a --test it -- --exact load::stops"
        );
        let some = Program {
            tests: Tests::With("load"),
            ..entries[0].clone()
        };
        assert_eq!(some.full_command(), "cargo test -p waggle-a --lib -- load");
        assert_eq!(
            some.test_alone("load::stops"),
            "cargo test -p waggle-a --lib -- --exact load::stops"
        );
        assert!(
            entries
                .iter()
                .all(|program| program.folder.ends_with("crates/a"))
        );
        assert!(programs("{}", &names).is_err());
        assert!(programs("error: no", &names).is_err());
    }
}
