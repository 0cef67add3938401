//! Processes of components whose waggle was killed together with their supervisors.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, geteuid, kill_process};

/// The variable of a component that names its folder.
pub const FOLDER_VARIABLE: &str = "WAGGLE_FOLDER";
/// How often to look for further processes, since those that are killed may have started some.
const ROUNDS_MAX: u32 = 50;
const ROUND_INTERVAL: Duration = Duration::from_millis(20);

/// Kills this user's processes that were started in this folder or below it, and returns their names. Their current folder says so, or
/// their environment: a program may leave the one and overwrite the other. The caller knows that nobody needs them.
#[must_use]
pub fn kill_processes_of(folder: &Path) -> Vec<String> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let is_inside = |path: PathBuf| path.starts_with(&folder);
    kill_all(|process| {
        let current = process.cwd().is_ok_and(is_inside);
        current || first_folder(process).is_some_and(is_inside)
    })
}

/// The folder in which a process, or one above it, was started as a component.
fn first_folder(process: &Process) -> Option<PathBuf> {
    let variables = process.environ().ok()?;
    let folder = variables.get(OsStr::new(FOLDER_VARIABLE))?;
    Path::new(folder).canonicalize().ok()
}

fn kill_all(is_chosen: impl Fn(&Process) -> bool) -> Vec<String> {
    let mut killed: Vec<String> = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let chosen: Vec<Process> = own_processes()
            .filter(|process| is_chosen(process))
            .collect();
        if chosen.is_empty() {
            break;
        }
        for process in chosen {
            let Some(pid) = Pid::from_raw(process.pid) else {
                continue;
            };
            let stat = process.stat();
            let name = stat.map_or_else(|_| "?".to_owned(), |stat| stat.comm);
            let line = format!("{name} (pid {})", process.pid);
            if kill_process(pid, Signal::KILL).is_ok() && !killed.contains(&line) {
                killed.push(line);
            }
        }
        thread::sleep(ROUND_INTERVAL);
    }
    killed
}

/// Those of this user that run, without this one.
fn own_processes() -> impl Iterator<Item = Process> {
    let all = all_processes().into_iter().flatten().flatten();
    all.filter(is_running_for_user)
}

fn is_running_for_user(process: &Process) -> bool {
    let is_running = process
        .stat()
        .is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'));
    let is_this = u32::try_from(process.pid) == Ok(std::process::id());
    let user = geteuid().as_raw();
    is_running && !is_this && process.uid().is_ok_and(|owner| owner == user)
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        process::{Child, Command, Stdio},
    };

    use super::{FOLDER_VARIABLE, kill_processes_of};

    fn sleeper(started_in: &Path, current: &Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").env(FOLDER_VARIABLE, started_in);
        command.current_dir(current).stdin(Stdio::null());
        command.spawn().unwrap()
    }

    #[test]
    fn processes_of_a_folder_are_killed_and_no_others() {
        let (inner, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let below = inner.path().join("store-0");
        std::fs::create_dir(&below).unwrap();
        let mut inside = [sleeper(other.path(), &below), sleeper(&below, other.path())];
        let mut outside = sleeper(other.path(), other.path());
        let mut killed = Vec::new();
        // Until a child has the environment of its program, it has that of this process.
        while inside
            .iter_mut()
            .any(|child| child.try_wait().unwrap().is_none())
        {
            killed.extend(kill_processes_of(inner.path()));
        }
        assert_eq!(killed.len(), 2, "{killed:?}");
        assert!(outside.try_wait().unwrap().is_none());
        outside.kill().unwrap();
        outside.wait().unwrap();
    }
}
