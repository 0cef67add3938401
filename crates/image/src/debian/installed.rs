//! What is installed here by dpkg: which package a file is of, and all files of a package with those that it depends on.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::commands::{Call, output};
use crate::{
    elf::architecture,
    error::ImageError,
    layer::{Entry, Tree, file, normal},
};

const QUERY_AT_MOST: Duration = Duration::from_secs(60);
/// Fields of a package: a line each.
const FORMAT: &str = "--showformat=${Package}\t${Architecture}\t${Version}\t${Priority}\t${Essential}\t${db:Status-Status}\t${Pre-Depends}, ${Depends}\t${Provides}\n";
/// Priorities of packages that every Debian has: of them an image has the base, and libraries that programs need.
const IN_EACH_DEBIAN: [&str; 2] = ["required", "important"];
/// In the base, whatever their priority is.
const IN_BASE: [&str; 3] = ["ca-certificates", "libgcc-s1", "netbase"];
/// Folders that programs do not read, at any depth.
const LEFT_OUT: [&str; 12] = [
    "usr/include",
    "usr/share/bash-completion",
    "usr/share/bug",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "/__pycache__",
    "/jmods",
    "/lib/src.zip",
    "usr/share/icons",
    "usr/share/applications",
];
const DOCUMENTATION: &str = "usr/share/doc/";

/// Whether a file of a package goes into images. Licences do, manuals do not.
pub(super) fn is_wanted(place: &Path) -> bool {
    let place = place.to_string_lossy();
    let place = place.trim_start_matches(['.', '/']);
    if place.starts_with(DOCUMENTATION) {
        return place.ends_with("/copyright");
    }
    !LEFT_OUT.iter().any(|folder| is_in(place, folder))
}

/// Whether a place is in a folder; one with a slash in front may be anywhere.
fn is_in(place: &str, folder: &str) -> bool {
    let (place, folder) = (format!("{place}/"), format!("{folder}/"));
    match folder.starts_with('/') {
        true => place.contains(&folder),
        false => place.starts_with(&folder),
    }
}

#[derive(Debug)]
struct Known {
    /// By which dpkg finds it.
    name: String,
    version: String,
    is_in_each: bool,
    /// Alternatives of each.
    depends: Vec<Vec<String>>,
}

/// The packages that are installed.
#[derive(Debug)]
pub struct Installed {
    packages: BTreeMap<String, Known>,
    /// Names that a package has besides its own.
    provided: BTreeMap<String, String>,
}

/// Files of packages at their places.
#[derive(Debug, Default)]
pub(super) struct Owned {
    pub(super) tree: Tree,
    /// Each with its version.
    pub(super) packages: Vec<String>,
}

impl Installed {
    /// Asks dpkg; `None`: this machine has none.
    ///
    /// # Errors
    /// It fails.
    pub async fn read() -> Result<Option<Self>, ImageError> {
        let text = match query(&["--show", FORMAT]).await {
            Err(ImageError::Program { problem, .. })
                if problem.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            other => other?,
        };
        Ok(Some(Self::new(&text)))
    }

    fn new(text: &str) -> Self {
        let mut installed = Self {
            packages: BTreeMap::new(),
            provided: BTreeMap::new(),
        };
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [
                name,
                architecture_of,
                version,
                priority,
                essential,
                "installed",
                depends,
                provides,
            ] = fields[..]
            else {
                continue;
            };
            let name_of_dpkg = match architecture_of {
                "all" => name.to_owned(),
                native if native == architecture() => format!("{name}:{native}"),
                _ => continue,
            };
            for provided in alternatives(provides).into_iter().flatten() {
                installed.provided.insert(provided, name.to_owned());
            }
            let known = Known {
                name: name_of_dpkg,
                version: version.to_owned(),
                is_in_each: essential == "yes"
                    || IN_EACH_DEBIAN.contains(&priority)
                    || IN_BASE.contains(&name),
                depends: alternatives(depends),
            };
            installed.packages.insert(name.to_owned(), known);
        }
        installed
    }

    /// The package that a file is of.
    ///
    /// # Errors
    /// dpkg cannot be asked.
    pub(super) async fn owner(&self, file: &Path) -> Result<Option<String>, ImageError> {
        let whole = file.to_string_lossy();
        // Packages know the places that files had before `/usr` was merged.
        let before = whole.strip_prefix("/usr").unwrap_or(&whole);
        for path in [&whole, before] {
            let answer = match query(&["--search", path]).await {
                Ok(answer) => answer,
                Err(ImageError::Failed { .. }) => continue,
                Err(other) => return Err(other),
            };
            let lines = answer.lines().filter_map(|line| line.split_once(": "));
            let mut owners = lines
                .filter(|(_, listed)| *listed == path)
                .filter_map(|(owners, _)| owners.split([':', ',']).next());
            if let Some(owner) = owners.find(|owner| self.packages.contains_key(*owner)) {
                return Ok(Some(owner.to_owned()));
            }
        }
        Ok(None)
    }

    /// The packages that this one needs, with itself, without those that every Debian has.
    fn closure(&self, package: &str) -> BTreeSet<String> {
        let mut closure = BTreeSet::new();
        let mut waiting = vec![package.to_owned()];
        while let Some(name) = waiting.pop() {
            let Some(known) = self.packages.get(&name) else {
                continue;
            };
            if (known.is_in_each && name != package) || !closure.insert(name) {
                continue;
            }
            waiting.extend(
                known
                    .depends
                    .iter()
                    .filter_map(|names| self.installed_alternative(names)),
            );
        }
        closure
    }

    /// The one of some alternatives that is installed.
    fn installed_alternative(&self, names: &[String]) -> Option<String> {
        let mut names = names.iter();
        names.find_map(|name| match self.packages.contains_key(name) {
            true => Some(name.clone()),
            false => self.provided.get(name).cloned(),
        })
    }

    /// The files of a package and of those that it needs.
    ///
    /// # Errors
    /// A file cannot be read, or dpkg cannot be asked.
    pub(super) async fn files(&self, package: &str) -> Result<Owned, ImageError> {
        let mut owned = Owned::default();
        let mut links = Vec::new();
        for name in self.closure(package) {
            let known = &self.packages[&name];
            owned.packages.push(format!("{name} {}", known.version));
            let listed = query(&["--listfiles", &known.name]).await?;
            for path in listed.lines().filter(|line| line.starts_with('/')) {
                let path = Path::new(path);
                if is_wanted(path) {
                    links.extend(add_installed(&mut owned.tree, path)?);
                }
            }
        }
        // Files to which links of packages lead, and that were made when the packages were configured.
        for link in links {
            let Ok(real) = fs::canonicalize(&link) else {
                continue;
            };
            let place = real.to_string_lossy().into_owned();
            if real.is_file() && owned.tree.get(&normal(&place)?).is_none() {
                owned.tree.add(&place, file(&real)?)?;
            }
        }
        Ok(owned)
    }
}

/// Adds what a package has at a path; a link is returned.
fn add_installed(tree: &mut Tree, path: &Path) -> Result<Option<PathBuf>, ImageError> {
    // A file of the configuration may have been removed.
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(None);
    };
    let place = path.to_string_lossy();
    if metadata.is_symlink() {
        let target = fs::read_link(path).map_err(ImageError::file("read", path))?;
        tree.add(&place, Entry::Link(target.to_string_lossy().into_owned()))?;
        return Ok(Some(path.to_path_buf()));
    }
    if metadata.is_file() {
        tree.add(&place, file(path)?)?;
    }
    Ok(None)
}

/// The names in a list such as `libc6 (>= 2.34), a | b:any`, each with its alternatives.
fn alternatives(list: &str) -> Vec<Vec<String>> {
    let name = |text: &str| {
        let end = text.find([' ', '(', ':', '[']);
        let name = &text[..end.unwrap_or(text.len())];
        (!name.is_empty()).then(|| name.to_owned())
    };
    let items = list.split(',').map(|item| {
        let names = item.split('|').filter_map(|text| name(text.trim()));
        names.collect::<Vec<_>>()
    });
    items.filter(|names| !names.is_empty()).collect()
}

async fn query(arguments: &[&str]) -> Result<String, ImageError> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let call = Call {
        program: "dpkg-query",
        arguments: &arguments,
        folder: Path::new("/"),
        limit: QUERY_AT_MOST,
    };
    let output = output(call).await?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Installed, architecture, is_wanted};

    #[test]
    fn a_package_comes_with_what_it_needs() {
        let architecture = architecture();
        let lines = [
            format!(
                "java\t{architecture}\t17\toptional\tno\tinstalled\t, libc6 (>= 2), fonts | none, awk:any\t"
            ),
            format!("libc6\t{architecture}\t2\toptional\tyes\tinstalled\t, \t"),
            "dejavu\tall\t1\toptional\tno\tinstalled\t, java\tfonts (= 1)".to_owned(),
            "none\tall\t1\toptional\tno\tconfig-files\t, \t".to_owned(),
            "mawk\tall\t1\trequired\tno\tinstalled\t, \tawk".to_owned(),
        ];
        let installed = Installed::new(&lines.join("\n"));
        let closure: Vec<String> = installed.closure("java").into_iter().collect();
        assert_eq!(closure, ["dejavu", "java"]);
    }

    #[test]
    fn licences_are_taken_and_manuals_are_not() {
        let check = |place: &str, expected: bool| {
            assert_eq!(is_wanted(Path::new(place)), expected, "{place}");
        };
        check("./usr/share/doc/libc6/copyright", true);
        check("/usr/share/doc/libc6/changelog.gz", false);
        check("/usr/share/man/man1/java.1.gz", false);
        check("/usr/share/manual", true);
        check("/usr/lib/python3/__pycache__/a.pyc", false);
        check("/usr/lib/jvm/x/lib/src.zip", false);
        check("/usr/lib/jvm/x/lib/modules", true);
    }
}
