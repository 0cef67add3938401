//! Locations of the servers' programs.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The path of a program of a server, e.g. `program("kafka", "kafka-server-start.sh")`: on `PATH`, or below
/// `waggle/servers/SERVER-VERSION/bin` in the user's cache folder.
pub fn program(server: &str, name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(name));
    on_path
        .chain(fetched_folders(server).map(|folder| folder.join("bin").join(name)))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!("{name} is not there: scripts/test installs it, or fetches it by `waggle system fetch ingest`")
        })
}

/// The folders of all versions that were fetched, the last by name first.
fn fetched_folders(server: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(servers_folder()).into_iter().flatten();
    let prefix = format!("{server}-");
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| name_of(folder).starts_with(&prefix))
        .collect();
    folders.sort();
    folders.into_iter().rev()
}

fn name_of(folder: &Path) -> &str {
    folder
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn servers_folder() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(env::var_os("HOME").expect("a home folder")).join(".cache");
    cache.unwrap_or_else(home).join("waggle").join("servers")
}
