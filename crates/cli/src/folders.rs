//! Where waggle keeps things of a user's that belong to no study.

use std::path::PathBuf;

/// `waggle` in the user's cache folder: what can be found out or fetched again.
pub(crate) fn cache() -> Option<PathBuf> {
    of_user("XDG_CACHE_HOME", ".cache")
}

/// Servers that were fetched, each version in a folder of its own.
pub(crate) fn servers() -> Option<PathBuf> {
    Some(cache()?.join("servers"))
}

/// Systems that are up without a study.
pub(crate) fn systems() -> Option<PathBuf> {
    Some(of_user("XDG_STATE_HOME", ".local/state")?.join("systems"))
}

fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set(variable).map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(below_home)));
    folder.map(|folder| folder.join("waggle"))
}
