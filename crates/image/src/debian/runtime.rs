//! What programs of an image need of this machine besides libraries: interpreters of scripts, and programs that scripts name.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    installed::Installed,
    program::{Program, take_program},
};
use crate::{
    error::ImageError,
    layer::{Entry, Layer, LinkOut, OutsideLink, Tree, Walk, interpreter, references, resolve},
};

/// Folders whose files are never taken: they are of a running machine.
const OF_RUNNING_MACHINE: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];
/// A program that a variable says the place of.
const JAVA: &str = "java";
/// Where Debian has all of Java.
const JAVA_FOLDER: &str = "/usr/lib/jvm";
/// Folders in which programs are found by their name, in an image.
const ON_PATH: [&str; 2] = ["usr/local/bin", "usr/bin"];

/// Programs of this machine with what belongs to them, as they are gathered.
#[derive(Debug)]
pub struct Runtime<'a> {
    /// What the image has below.
    base: &'a Tree,
    installed: Option<Installed>,
    /// Where the variable JAVA_HOME leads, if programs get that.
    java_home: Option<PathBuf>,
    taken: BTreeSet<PathBuf>,
    tree: Tree,
    sources: BTreeSet<String>,
    /// Programs of which nothing but the file is known to belong to them.
    pub alone: Vec<PathBuf>,
}

impl<'a> Runtime<'a> {
    #[must_use]
    pub fn new(base: &'a Tree, installed: Option<Installed>, java_home: Option<PathBuf>) -> Self {
        Self {
            base,
            installed,
            java_home,
            taken: BTreeSet::new(),
            tree: Tree::default(),
            sources: BTreeSet::new(),
            alone: Vec::new(),
        }
    }

    /// Takes a program along, and returns where it is in the image.
    ///
    /// # Errors
    /// What belongs to it is not known, or cannot be read.
    pub async fn add(&mut self, program: &Path) -> Result<PathBuf, ImageError> {
        let real = fs::canonicalize(program).map_err(ImageError::file("find", program))?;
        if !self.taken.insert(program.to_path_buf()) {
            return Ok(real);
        }
        let Program {
            tree,
            sources,
            path,
            is_alone,
        } = take_program(program, self.installed.as_ref()).await?;
        self.tree.join(tree)?;
        self.sources.extend(sources);
        self.alone.extend(is_alone.then_some(path));
        Ok(real)
    }

    /// Takes along what a script needs: its interpreter, those of `names` that it has as words, and programs that it names by a path.
    ///
    /// # Errors
    /// One of them is not on this machine, or as of [`Self::add`].
    pub async fn add_needs(&mut self, script: &Entry, names: &[String]) -> Result<(), ImageError> {
        let Some(interpreter) = interpreter(script) else {
            return Ok(());
        };
        let references = references(script, names);
        for name in references.names.iter().chain([&interpreter]) {
            if !self.has_program(name) {
                let program = self.find(name)?;
                self.add(&program).await?;
            }
        }
        for path in references
            .paths
            .iter()
            .flat_map(|path| matching_paths(path))
        {
            let is_java = path.ends_with(JAVA) && path.starts_with(JAVA_FOLDER);
            let is_answered = is_java && self.java_home.is_some();
            if !is_answered && !self.has_program(&path.to_string_lossy()) && is_program(&path) {
                self.add(&path).await?;
            }
        }
        Ok(())
    }

    /// Takes along what a link of an artifact leads to, outside of it: a program, a folder of a package, or one below `cache`.
    ///
    /// # Errors
    /// What belongs to it is not known.
    pub async fn add_target(&mut self, out: &LinkOut, cache: &Path) -> Result<(), ImageError> {
        let LinkOut { link, target } = out;
        let refusal = || ImageError::Outside {
            path: link.clone(),
            target: target.clone(),
        };
        let real = fs::canonicalize(target).map_err(|_| refusal())?;
        if real.is_file() {
            return self.add(target).await.map(drop);
        }
        if !self.taken.insert(real.clone()) {
            return Ok(());
        }
        if let Some(installed) = &self.installed
            && let Some(package) = installed.owner(&real).await?
        {
            let owned = installed.files(&package).await?;
            self.tree.join(owned.tree)?;
            self.sources.extend(owned.packages);
            return Ok(());
        }
        if !real.starts_with(cache) {
            return Err(refusal());
        }
        let place = real.to_string_lossy();
        let walk = Walk {
            folder: &real,
            place: &place,
            outside: OutsideLink::Refused,
            is_left_out: &|name| name.ends_with("__pycache__"),
        };
        let mut tree = Tree::default();
        walk.take(&mut tree)?;
        if real != *target {
            let link = Entry::Link(place.clone().into_owned());
            tree.add(&target.to_string_lossy(), link)?;
        }
        self.sources.insert(place.into_owned());
        self.tree.join(tree)
    }

    /// All that was taken. It covers what the base has at the same places.
    #[must_use]
    pub fn layer(self) -> Layer {
        let sources: Vec<String> = self.sources.into_iter().collect();
        Layer {
            tree: self.tree,
            source: format!("programs of the machine: {}", sources.join(", ")),
        }
    }

    /// Whether a program is in the image, by its path or by its name.
    fn has_program(&self, program: &str) -> bool {
        let trees = [self.base, &self.tree];
        match program.starts_with('/') {
            true => resolve(&trees, program).is_some(),
            false => ON_PATH
                .iter()
                .any(|folder| resolve(&trees, &format!("{folder}/{program}")).is_some()),
        }
    }

    fn find(&self, program: &str) -> Result<PathBuf, ImageError> {
        let of_java = self.java_home.as_ref().filter(|_| program == JAVA);
        let of_java = of_java.map(|home| home.join("bin").join(JAVA));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|folder| folder.join(program));
        let mut candidates = of_java.into_iter().chain(on_path);
        let program_there = candidates.find(|candidate| is_program(candidate));
        program_there.ok_or_else(|| ImageError::NotTaken {
            program: PathBuf::from(program),
            why: "a script of the image needs it, and it is not on this machine".to_owned(),
        })
    }
}

fn is_program(path: &Path) -> bool {
    let is_running = OF_RUNNING_MACHINE
        .iter()
        .any(|folder| path.starts_with(folder));
    let is_executable = |metadata: fs::Metadata| {
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        metadata.is_file() && mode & 0o111 != 0
    };
    path.is_absolute() && !is_running && fs::metadata(path).is_ok_and(is_executable)
}

/// The paths for one in which `*` stands for any folder.
fn matching_paths(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/")];
    for part in pattern.components().skip(1) {
        let is_any = part.as_os_str() == "*";
        let next = paths.iter().flat_map(|path| match is_any {
            true => entries(path),
            false => vec![path.join(part)],
        });
        paths = next.collect();
    }
    paths
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::{Runtime, matching_paths};
    use crate::layer::{Content, Entry, Tree};

    #[test]
    fn a_star_is_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for name in ["a/bin", "b/bin"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let expected = [root.join("a/bin/java"), root.join("b/bin/java")];
        assert_eq!(matching_paths(&root.join("*/bin/java")), expected);
    }

    #[test]
    fn an_interpreter_that_is_nowhere_is_refused_by_name() {
        let base = Tree::default();
        let mut runtime = Runtime::new(&base, None, None);
        let script = Entry::File {
            content: Content::Bytes(b"#!/usr/bin/env no-such-language\n".to_vec()),
            is_executable: true,
        };
        let executor = tokio::runtime::Builder::new_current_thread().build();
        let refused = executor
            .unwrap()
            .block_on(runtime.add_needs(&script, &[]))
            .unwrap_err();
        let expected =
            "no-such-language: a script of the image needs it, and it is not on this machine";
        assert_eq!(refused.to_string(), expected);
    }
}
