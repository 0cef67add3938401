//! Processes of components whose waggle was killed together with their supervisors.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::host::owner::Owner;

/// The variable of a component that names its waggle.
pub const OWNER_VARIABLE: &str = "WAGGLE_OWNER";
/// How often to look for further processes, since those that are killed may have started some.
const ROUNDS_MAX: u32 = 50;
const ROUND_INTERVAL: Duration = Duration::from_millis(20);

/// Kills this user's processes whose waggle has ended; returns what was killed, such as `kafka-0 (java, pid 123)`.
#[must_use]
pub fn kill_orphans() -> Vec<String> {
    kill_all(|process| owner_of(process).is_some_and(|owner| owner.has_ended()))
}

fn owner_of(process: &Process) -> Option<Owner> {
    let variables = process.environ().ok()?;
    let owner = variables.get(OsStr::new(OWNER_VARIABLE))?;
    Owner::parse(owner.to_str()?)
}

/// Kills this user's processes whose current folder is this one or below it: programs that replace their environment are found by this.
#[must_use]
pub fn kill_processes_in(folder: &Path) -> Vec<String> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let is_inside = |current: PathBuf| current.starts_with(&folder);
    kill_all(|process| process.cwd().is_ok_and(is_inside))
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
    use std::process::{Child, Command, Stdio};

    use super::{OWNER_VARIABLE, kill_orphans, kill_processes_in};
    use crate::host::owner::Owner;

    fn sleeper(owner: &str, folder: &std::path::Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").env(OWNER_VARIABLE, owner);
        command.current_dir(folder).stdin(Stdio::null());
        command.spawn().unwrap()
    }

    fn is_over(child: &mut Child) -> bool {
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().ok();
        child.wait().ok();
        is_over
    }

    #[test]
    fn processes_of_a_dead_waggle_are_killed_and_no_others() {
        let (inner, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut dead = Command::new("true").spawn().unwrap();
        let this = Owner::of_this_process().unwrap().to_string();
        let dead_owner = this.replace(
            &format!("-{}-", std::process::id()),
            &format!("-{}-", dead.id()),
        );
        dead.wait().unwrap();
        let mut orphan = sleeper(&dead_owner, other.path());
        let mut living = sleeper(&this, other.path());
        let mut nobody = sleeper("", other.path());
        let orphan_name = format!("sleep (pid {})", orphan.id());
        // Until the child has the environment of its program, it has that of this process.
        while !kill_orphans().contains(&orphan_name) && orphan.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(orphan.wait().is_ok());
        assert!(!is_over(&mut living) && !is_over(&mut nobody));
        let mut inside = sleeper("", inner.path());
        let mut outside = sleeper("", other.path());
        let killed = kill_processes_in(inner.path());
        assert_eq!(killed.len(), 1, "{killed:?}");
        assert!(inside.wait().is_ok());
        assert!(!is_over(&mut outside));
    }
}
