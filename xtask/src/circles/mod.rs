//! Circles of imports within a crate: files of which each imports, directly or indirectly, from all the others. A reader of one
//! of them has to read them all, so there is a limit.
//!
//! Tests are ignored: they import what they test. A name that a module re-exports is an import from the file that defines it.

mod imports;
mod modules;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use modules::Sources;

use crate::rules::Breach;

/// The files of a crate, each with those that it imports from.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Files of which each imports from some of the others, so that they form a circle.
pub(crate) type Circle = Imports;

/// Files that may import each other in a circle.
const FILES_MAX: usize = 3;

/// The imports of a crate, for each of its root files (`lib.rs`, `main.rs`, …).
///
/// # Errors
/// If a file is not Rust.
pub(crate) fn imports(roots: &[String], sources: &Sources) -> Result<Vec<Imports>, syn::Error> {
    let mut all = Vec::new();
    for root in roots {
        all.push(imports::imports(&modules::Tree::read(root, sources)?));
    }
    Ok(all)
}

/// The circles among imports, larger than the limit.
pub(crate) fn circles(imports: &Imports) -> Vec<Circle> {
    components(imports)
        .into_iter()
        .filter(|files| files.len() > FILES_MAX)
        .map(|files| imports_within(&files, imports))
        .collect()
}

/// The breaches of a crate's circles.
pub(crate) fn breaches(name: &str, circles: &[Circle]) -> Vec<Breach> {
    circles.iter().map(|circle| breach(name, circle)).collect()
}

fn breach(name: &str, circle: &Circle) -> Breach {
    let lines = circle.iter().map(|(file, imported)| {
        let imported: Vec<&str> = imported.iter().map(String::as_str).collect();
        format!("\n  {file} imports from {}", imported.join(", "))
    });
    Breach {
        file: name.to_owned(),
        line: 0,
        rule: format!(
            "{} files import each other in a circle, more than {FILES_MAX}:{}",
            circle.len(),
            lines.collect::<String>()
        ),
    }
}

/// The imports among these files.
fn imports_within(files: &BTreeSet<String>, imports: &Circle) -> Circle {
    let among = |imported: &BTreeSet<String>| imported.intersection(files).cloned().collect();
    files
        .iter()
        .filter_map(|file| Some((file.clone(), among(imports.get(file)?))))
        .collect()
}

/// The strongly connected components of the graph.
fn components(imports: &Circle) -> Vec<BTreeSet<String>> {
    let mut reverse: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, imported) in imports {
        for imported in imported {
            reverse.entry(imported).or_default().push(file);
        }
    }
    // Kosaraju: in the order in which a walk leaves the files, last first, walk against the imports.
    let forward = |file: &str| -> Vec<&str> {
        let imported = imports.get_key_value(file).map(|(_, imported)| imported);
        imported.into_iter().flatten().map(String::as_str).collect()
    };
    let backward = |file: &str| reverse.get(file).cloned().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut left = Vec::new();
    for file in imports.keys() {
        walk(file, &forward, &mut seen, &mut left);
    }
    seen.clear();
    let mut components = Vec::new();
    for file in left.iter().rev() {
        let mut component = Vec::new();
        walk(file, &backward, &mut seen, &mut component);
        if !component.is_empty() {
            components.push(component.into_iter().map(str::to_owned).collect());
        }
    }
    components
}

/// Visits reachable files that were not visited; appends each file when all files it leads to were visited.
fn walk<'a>(
    file: &'a str,
    next: &impl Fn(&str) -> Vec<&'a str>,
    seen: &mut BTreeSet<&'a str>,
    left: &mut Vec<&'a str>,
) {
    if !seen.insert(file) {
        return;
    }
    for following in next(file) {
        walk(following, next, seen, left);
    }
    left.push(file);
}

#[cfg(test)]
mod tests;
