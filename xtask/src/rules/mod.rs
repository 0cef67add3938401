//! The rules of STYLE.md that a program can check. Pure: names and texts in, breaches out.

use std::{collections::BTreeMap, fmt};

mod function_names;
mod reading_order;

/// A broken rule, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) file: String,
    /// Counted from 1; 0 for the whole file.
    pub(crate) line: usize,
    pub(crate) rule: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.rule),
            line => write!(f, "{}:{line}: {}", self.file, self.rule),
        }
    }
}

/// Longest source file without a reason.
const LINES_MAX: usize = 500;
/// A line that gives the reason for a longer one.
const LONG_MARK: &str = "// long: ";
/// Words without meaning in names of modules and functions.
const EMPTY_WORDS: [&str; 7] = [
    "util", "utils", "helper", "helpers", "common", "manager", "managers",
];
/// Folders of one machine: no file may hold a path that starts in one of these.
const MACHINE_FOLDERS: [&str; 4] = ["home", "root", "work", "Users"];

/// Every crate, with the crates of this project that it may use.
const ARROWS: [(&str, &[&str]); 29] = [
    ("waggle-agents", &["load", "spec", "testkit"]),
    (
        "waggle-analysis",
        &["metrics", "results", "spec", "stats", "units"],
    ),
    (
        "waggle-cli",
        &[
            "agents", "spec", "study", "load", "stats", "results", "runner", "system", "analysis",
            "report", "serve", "service", "cluster", "convert", "flags", "image", "testkit",
            "units",
        ],
    ),
    ("waggle-cluster", &["testkit"]),
    (
        "waggle-convert",
        &[
            "report", "results", "runner", "spec", "stats", "study", "template",
        ],
    ),
    (
        "waggle-gateway",
        &[
            "fetch", "flags", "influxdb", "kafka", "record", "service", "sink", "testkit", "units",
            "wire",
        ],
    ),
    ("waggle-fetch", &[]),
    ("waggle-flags", &["units"]),
    ("waggle-image", &["testkit"]),
    ("waggle-influxdb", &["fetch", "testkit"]),
    ("waggle-kafka", &["fetch"]),
    ("waggle-load", &["spec", "template", "testkit", "wire"]),
    ("waggle-metrics", &["spec"]),
    ("waggle-record", &[]),
    (
        "waggle-report",
        &["analysis", "metrics", "results", "spec", "stats"],
    ),
    ("waggle-results", &["spec", "testkit"]),
    (
        "waggle-runner",
        &[
            "agents", "cluster", "spec", "study", "load", "results", "stats", "record", "system",
            "analysis", "testkit", "units",
        ],
    ),
    ("waggle-serve", &["report", "results"]),
    ("waggle-service", &[]),
    (
        "waggle-sink",
        &["flags", "influxdb", "kafka", "record", "service", "testkit"],
    ),
    ("waggle-spec", &[]),
    ("waggle-stats", &[]),
    ("waggle-study", &["metrics", "spec", "template", "units"]),
    (
        "waggle-system",
        &[
            "spec", "study", "load", "results", "stats", "template", "testkit", "units",
        ],
    ),
    ("waggle-template", &[]),
    ("waggle-testkit", &[]),
    ("waggle-units", &[]),
    ("waggle-wire", &[]),
    ("xtask", &[]),
];

/// Every rule that is about one file.
pub(crate) fn file(file: &str, text: &str) -> Vec<Breach> {
    let mut findings = machine_paths(text);
    if file.ends_with(".rs") {
        findings.extend(opening(text));
        findings.extend(length(text));
        findings.extend(names(file, text));
        findings.extend(ignored_tests(text));
        findings.extend(code_blocks(text));
        findings.extend(reading_order::breaches(file, text));
    }
    if file == "Cargo.toml" {
        findings.extend(reasons(text));
    }
    let breach = |(line, rule)| Breach {
        file: file.to_owned(),
        line,
        rule,
    };
    findings.into_iter().map(breach).collect()
}

/// Crates that are not listed, that are listed but do not exist, that use a forbidden one, or that do not use an allowed one.
pub(crate) fn arrows(packages: &BTreeMap<String, Vec<String>>) -> Vec<Breach> {
    let breach = |package: &str, rule: String| Breach {
        file: package.to_owned(),
        line: 0,
        rule,
    };
    let mut breaches: Vec<Breach> = ARROWS
        .iter()
        .filter(|(listed, _)| !packages.contains_key(*listed))
        .map(|(listed, _)| {
            breach(
                listed,
                "is listed in xtask/src/rules/mod.rs, but there is no such crate".to_owned(),
            )
        })
        .collect();
    for (package, uses) in packages {
        let Some((_, allowed)) = ARROWS.iter().find(|(listed, _)| listed == package) else {
            let rule = "is not listed in xtask/src/rules/mod.rs with the crates that it may use";
            breaches.push(breach(package, rule.to_owned()));
            continue;
        };
        let is_allowed = |used: &str| {
            used.strip_prefix("waggle-")
                .is_some_and(|used| allowed.contains(&used))
        };
        for used in uses.iter().filter(|used| !is_allowed(used)) {
            let rule = format!("may not use {used}; allowed are {allowed:?}");
            breaches.push(breach(package, rule));
        }
        let is_used = |allowed: &str| {
            uses.iter()
                .any(|used| used.strip_prefix("waggle-") == Some(allowed))
        };
        for allowed in allowed.iter().filter(|allowed| !is_used(allowed)) {
            let rule = format!("may use {allowed} and does not: xtask/src/rules/mod.rs lists it");
            breaches.push(breach(package, rule));
        }
    }
    breaches
}

type Finding = (usize, String);

/// A file begins with its purpose.
fn opening(text: &str) -> Option<Finding> {
    let is_missing = !text.starts_with("//!");
    is_missing.then(|| {
        (
            1,
            "the file does not open with //!, what it is for".to_owned(),
        )
    })
}

fn length(text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    let has_reason = || {
        text.lines().any(|line| {
            line.trim_start()
                .strip_prefix(LONG_MARK)
                .is_some_and(|why| !why.trim().is_empty())
        })
    };
    (lines > LINES_MAX && !has_reason()).then(|| {
        (
            0,
            format!("{lines} lines, more than {LINES_MAX} without a line `{LONG_MARK}reason`"),
        )
    })
}

/// Names of files, modules and functions.
fn names(file: &str, text: &str) -> Vec<Finding> {
    let parts = file.trim_end_matches(".rs").split('/');
    let mut findings: Vec<Finding> = parts
        .filter_map(empty_word)
        .map(|word| (0, format!("{word:?} in a file's name says nothing")))
        .collect();
    // The names in the impl of a trait are the trait's.
    let mut is_in_trait_impl = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("impl") {
            is_in_trait_impl = line.contains(" for ");
        } else if line == "}" {
            is_in_trait_impl = false;
        }
        let rule = item(line).and_then(|(kind, name)| broken_rule(kind, name, is_in_trait_impl));
        findings.extend(rule.map(|rule| (number, rule)));
    }
    findings
}

/// The rule that the name of a function or module breaks.
fn broken_rule(kind: &str, name: &str, is_in_trait_impl: bool) -> Option<String> {
    if kind == "fn" && !is_in_trait_impl && name.starts_with("get_") {
        return Some(format!("function {name}: leave out get_"));
    }
    if kind == "fn" && !is_in_trait_impl && function_names::is_no_name(name) {
        return Some(format!(
            "function {name}: name it by a verb or by what it gives"
        ));
    }
    let word = empty_word(name)?;
    Some(format!("{word:?} in the name {name} says nothing"))
}

fn empty_word(name: &str) -> Option<&str> {
    name.split(['_', '-', '.'])
        .find(|word| EMPTY_WORDS.contains(word))
}

/// Kind and name of the function or module that a line declares.
fn item(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub")
            || matches!(*word, "async" | "const" | "unsafe" | "extern" | "\"C\"")
    });
    let kind = words.next().filter(|word| matches!(*word, "fn" | "mod"))?;
    let name = words.next()?;
    let end = name
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(name.len());
    Some((kind, &name[..end]))
}

/// An ignored test shows nothing.
fn ignored_tests(text: &str) -> impl Iterator<Item = Finding> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with("#[ignore"))
        .map(|(index, _)| (index + 1, "an ignored test".to_owned()))
}

/// Code in comments, which would be a test that no part of the tests runs.
fn code_blocks(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(language) = comment.and_then(|comment| comment.trim().strip_prefix("```")) else {
            continue;
        };
        is_open = !is_open;
        if is_open && language != "text" {
            let rule = "code in a comment: make it a test, or text (```text)";
            findings.push((index + 1, rule.to_owned()));
        }
    }
    findings
}

/// Paths of the machine that a file was written on.
fn machine_paths(text: &str) -> Vec<Finding> {
    let has_path = |line: &str| {
        MACHINE_FOLDERS.iter().any(|folder| {
            let path = format!("/{folder}/");
            line.match_indices(&path)
                .any(|(offset, _)| starts_path(&line[..offset]))
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| has_path(line))
        .map(|(index, _)| (index + 1, "a path of one machine".to_owned()))
        .collect()
}

/// Whether a slash after this text begins an absolute path, and is not within a path, a URL or a variable.
fn starts_path(before: &str) -> bool {
    before.chars().next_back().is_none_or(|last| {
        last.is_whitespace()
            || matches!(
                last,
                '"' | '\'' | '`' | '=' | ':' | '(' | '[' | '<' | '>' | ','
            )
    })
}

/// In the root manifest each block of external dependencies has a line with its reason.
fn reasons(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_dependencies = false;
    let mut has_reason = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            is_dependencies = line.ends_with("dependencies]");
            has_reason = false;
        } else if line.is_empty() {
            has_reason = false;
        } else if line.starts_with('#') {
            has_reason = true;
        } else if is_dependencies && !has_reason && !line.contains("path = ") {
            let name = line.split([' ', '=', '.']).next().unwrap_or(line);
            findings.push((
                index + 1,
                format!("dependency {name} has no comment above it that says why"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
