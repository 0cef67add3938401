//! What runs left in their folders that were killed together with their supervisors: processes, files of the system with its keys and
//! certificates, unfinished trials with logs in which secrets may be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use waggle_results::RunLock;
use waggle_system::host::orphans::kill_processes_of;

use super::schedule::{CHANGED_SYSTEM_FOLDER, SYSTEM_FOLDER};

/// Removes it in every run of a folder of runs that no waggle writes to; returns a line for each such run. A run can still be resumed:
/// unfinished trials are run again.
#[must_use]
pub fn remove_remains(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
        .iter()
        .filter_map(|run| remove_remains_of_run(run))
        .collect()
}

/// Removes it in one run; `None`: there was nothing.
#[must_use]
pub fn remove_remains_of_run(run: &Path) -> Option<String> {
    if remains(run).is_empty() {
        return None;
    }
    // Another waggle may write to it, and begin or end a trial until it is locked.
    let _lock = RunLock::take(run).ok()?;
    let mut done = Vec::new();
    for path in remains(run) {
        let killed = kill_processes_of(&path);
        if !killed.is_empty() {
            done.push(format!("killed {}", killed.join(", ")));
        }
        let shown = path
            .strip_prefix(run)
            .unwrap_or(&path)
            .display()
            .to_string();
        match fs::remove_dir_all(&path) {
            Ok(()) => done.push(format!("removed {shown}")),
            Err(why) => done.push(format!("cannot remove {shown}: {why}")),
        }
    }
    let run = run.display();
    Some(format!(
        "a killed run left remains in {run}: {}",
        done.join(", ")
    ))
}

fn remains(run: &Path) -> Vec<PathBuf> {
    if !waggle_results::is_run(run) {
        return Vec::new();
    }
    let systems = [SYSTEM_FOLDER, CHANGED_SYSTEM_FOLDER].map(|name| run.join(name));
    let systems = systems.into_iter().filter(|folder| is_folder(folder));
    systems
        .chain(waggle_results::unfinished_trials(run))
        .collect()
}

/// Whether it is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}
