//! The rooms of a crate, which are the folders at the top of its sources: each imports downwards only. Folders of sources stay small,
//! and a module has one form of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::{circles::Imports, rules::Breach};

/// Where the rooms of the crates are listed, from the ground up.
pub(crate) const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// The heading of the list.
const HEADING: &str = "## Rooms";

/// The rooms of each crate that has them, from the ground up. Files at the top that are not listed are on the ground.
pub(crate) type Orders = BTreeMap<String, Vec<String>>;

/// The orders in the text of [`ARCHITECTURE`]: rows such as ``| `load` | `machine` `random` |`` below the heading.
pub(crate) fn orders(text: &str) -> Orders {
    let section = text.lines().skip_while(|line| *line != HEADING).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    section
        .filter_map(|line| {
            let mut names = line.strip_prefix("| `")?.split('`').step_by(2);
            let package = format!("waggle-{}", names.next()?);
            Some((package, names.map(str::to_owned).collect()))
        })
        .collect()
}

/// Most entries of a folder of sources.
const ENTRIES_MAX: usize = 20;
/// Folders that may have more until their crates have rooms.
const LARGE_FOLDERS: [&str; 4] = [
    "crates",
    "crates/study/src",
    "crates/study/src/check",
    "crates/study/tests/it",
];

/// Imports of a crate that point upwards, and folders that are not in the order.
pub(crate) fn upward_imports(orders: &Orders, package: &str, imports: &Imports) -> Vec<Breach> {
    let Some(order) = orders.get(package) else {
        return Vec::new();
    };
    let mut breaches = Vec::new();
    for (file, imported) in imports {
        let Place::Floor(floor) = place(order, file) else {
            if place(order, file) == Place::Unknown {
                breaches.push(breach(
                    file,
                    "its folder is not among the rooms of ARCHITECTURE.md",
                ));
            }
            continue;
        };
        for below in imported {
            if matches!(place(order, below), Place::Floor(other) if other > floor) {
                let rule = format!("imports upwards, from {below}; the order is {order:?}");
                breaches.push(breach(file, &rule));
            }
        }
    }
    breaches
}

/// Folders of sources with too many entries, and modules with a file beside their folder.
pub(crate) fn folders(files: &BTreeSet<String>) -> Vec<Breach> {
    let sources = files.iter().filter(|file| file.ends_with(".rs"));
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in sources {
        let mut path = file.as_str();
        while let Some((folder, name)) = path.rsplit_once('/') {
            entries.entry(folder).or_default().insert(name);
            path = folder;
        }
    }
    let is_large = |folder: &&str| !LARGE_FOLDERS.contains(folder);
    let large = entries
        .iter()
        .filter(|(folder, names)| names.len() > ENTRIES_MAX && is_large(folder))
        .map(|(folder, names)| {
            let rule = format!("{} entries, more than {ENTRIES_MAX}", names.len());
            breach(folder, &rule)
        });
    let split = files
        .iter()
        .filter(|file| {
            file.strip_suffix(".rs")
                .is_some_and(|path| entries.contains_key(path))
        })
        .map(|file| {
            breach(
                file,
                "lies beside a folder of its name; it is mod.rs in the folder",
            )
        });
    large.chain(split).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Counted from the ground.
    Floor(usize),
    /// `lib.rs` or `main.rs`, which see all rooms.
    Roof,
    Unknown,
}

fn place(order: &[String], file: &str) -> Place {
    let Some((_, path)) = file.split_once("/src/") else {
        return Place::Unknown;
    };
    let (room, is_folder) = match path.split_once('/') {
        Some((room, _)) => (room, true),
        None => (path.trim_end_matches(".rs"), false),
    };
    match order.iter().position(|known| known == room) {
        Some(floor) => Place::Floor(floor + 1),
        None if is_folder => Place::Unknown,
        None if matches!(room, "lib" | "main") => Place::Roof,
        None => Place::Floor(0),
    }
}

fn breach(file: &str, rule: &str) -> Breach {
    Breach {
        file: file.to_owned(),
        line: 0,
        rule: rule.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn rooms_import_downwards_only() {
        let check = |file: &str, imported: &str, expected: &[&str]| {
            let text = "| `a` | `run` |\n\n## Rooms\n\n| crate | folders |\n|---|---|\n| `r` | files `host` `trial` `run` |\n\n## Next\n";
            let orders = orders(text);
            assert_eq!(orders.len(), 1, "{orders:?}");
            let imports = Imports::from([(file.to_owned(), set(&[imported]))]);
            let rules: Vec<String> = upward_imports(&orders, "waggle-r", &imports)
                .into_iter()
                .map(|breach| breach.rule)
                .collect();
            assert_eq!(rules.len(), expected.len(), "{rules:?}");
            for (rule, beginning) in rules.iter().zip(expected) {
                assert!(rule.starts_with(beginning), "{rule}");
            }
        };
        let upward = "imports upwards, from r/src/run/b.rs";
        check("r/src/run/a.rs", "r/src/host/b.rs", &[]);
        check("r/src/run/a.rs", "r/src/run/b.rs", &[]);
        check("r/src/run/a.rs", "r/src/clock.rs", &[]);
        check("r/src/lib.rs", "r/src/run/b.rs", &[]);
        check("r/src/trial/a.rs", "r/src/run/b.rs", &[upward]);
        check("r/src/clock.rs", "r/src/run/b.rs", &[upward]);
        check(
            "r/src/other/a.rs",
            "r/src/run/b.rs",
            &["its folder is not among"],
        );
    }

    #[test]
    fn folders_are_small_and_modules_have_one_form() {
        let mut files = set(&["a/src/b.rs", "a/src/b/c.rs", "a/src/d/mod.rs", "a/src/e.md"]);
        files.extend((0..=ENTRIES_MAX).map(|number| format!("a/f/{number}.rs")));
        let breaches: Vec<String> = folders(&files).iter().map(Breach::to_string).collect();
        assert_eq!(
            breaches,
            [
                "a/f: 21 entries, more than 20",
                "a/src/b.rs: lies beside a folder of its name; it is mod.rs in the folder",
            ]
        );
    }
}
