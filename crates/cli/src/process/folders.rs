//! Folders of the user's data that belongs to no study.

use std::path::PathBuf;

/// `waggle` in the user's cache folder: data that can be computed or fetched again.
pub(crate) fn cache() -> Option<PathBuf> {
    of_user("XDG_CACHE_HOME", ".cache")
}

/// Fetched artifacts, one folder per version.
pub(crate) fn artifacts() -> Option<PathBuf> {
    Some(cache()?.join("servers"))
}

/// Systems that run without a study.
pub(crate) fn systems() -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("systems"))
}

/// Notes of what runs made in systems that run already, and that is not removed yet.
pub(crate) fn creation_notes() -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("created"))
}

/// Notes of what runs made in Kubernetes clusters, and that is not removed yet.
pub(crate) fn cluster_notes() -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("created-in-clusters"))
}

/// The processes that measure now, a file each.
pub(crate) fn measuring() -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("measuring"))
}

fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set(variable).map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(below_home)));
    folder.map(|folder| folder.join("waggle"))
}
