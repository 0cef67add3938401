//! Shared libraries of this machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::facts::facts;
use crate::layer::{Content, Entry};

/// Files with folders of libraries.
const FOLDERS_FILE: &str = "/etc/ld.so.conf.d";

/// The folder below `/usr/lib` that Debian has for libraries of this architecture.
pub(super) fn triplet() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

/// The folders in which the loader looks without being told.
pub(super) fn default_folders() -> Vec<PathBuf> {
    let triplet = triplet();
    let known = [
        format!("/lib/{triplet}"),
        format!("/usr/lib/{triplet}"),
        "/lib64".to_owned(),
        "/usr/lib64".to_owned(),
        "/lib".to_owned(),
        "/usr/lib".to_owned(),
    ];
    known.into_iter().map(PathBuf::from).collect()
}

/// A library by its name, of the architecture of this machine, in one of the loader's folders.
pub(super) fn library(name: &str) -> Option<PathBuf> {
    let mut files = default_folders()
        .into_iter()
        .chain(configured_folders())
        .map(|folder| folder.join(name));
    files.find(|file| is_of_this_machine(file))
}

fn is_of_this_machine(file: &Path) -> bool {
    let entry = Entry::File {
        content: Content::File(file.to_path_buf()),
        is_executable: false,
    };
    file.is_file()
        && facts(&entry).is_some_and(|facts| facts.architecture == std::env::consts::ARCH)
}

/// Those that `ldconfig` is told of.
fn configured_folders() -> Vec<PathBuf> {
    let files = fs::read_dir(FOLDERS_FILE).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let folders = lines.iter().map(|line| line.trim());
    let folders = folders.filter(|line| line.starts_with('/'));
    folders.map(PathBuf::from).collect()
}
