//! What runs left in their folders that were killed together with their supervisors: processes, files of the system with its keys and
//! certificates, unfinished trials with logs in which secrets may be, the file by which agents join, the socket of the run.

use std::{
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use waggle_results::RunLock;
use waggle_system::host::orphans::kill_processes_of;

use super::{
    agents::JOIN_FILE,
    schedule::{CHANGED_SYSTEM_FOLDER, SYSTEM_FOLDER},
};

/// At which a run is followed; and its name until it is listened to.
const SOCKETS: [&str; 2] = ["events.sock", ".events.sock.partial"];

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
        match remove(&path) {
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
    let join_file = Some(run.join(JOIN_FILE));
    let join_file = join_file.filter(|file| has_type(file, fs::FileType::is_file));
    let sockets = SOCKETS.map(|name| run.join(name)).into_iter();
    let sockets = sockets.filter(|socket| has_type(socket, fs::FileType::is_socket));
    systems
        .chain(waggle_results::unfinished_trials(run))
        .chain(join_file)
        .chain(sockets)
        .collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match is_folder(path) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn is_folder(path: &Path) -> bool {
    has_type(path, fs::FileType::is_dir)
}

/// Whether it is of this type itself, and no link to what is.
fn has_type(path: &Path, is_it: fn(&fs::FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| is_it(&about.file_type()))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
        path::Path,
    };

    use super::remove_remains_of_run;

    fn is_there(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    #[test]
    fn what_is_of_use_only_while_a_run_lives_is_removed() {
        let runs = tempfile::tempdir().unwrap();
        let run = runs.path().join("shop");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        fs::write(run.join("agents.join"), "token").unwrap();
        for socket in ["events.sock", ".events.sock.partial"] {
            drop(UnixListener::bind(run.join(socket)).unwrap());
        }
        let line = remove_remains_of_run(&run).unwrap();
        assert!(
            line.ends_with(
                ": removed agents.join, removed events.sock, removed .events.sock.partial"
            ),
            "{line}"
        );
        for name in ["agents.join", "events.sock", ".events.sock.partial"] {
            assert!(!is_there(&run.join(name)), "{name}");
        }
        assert!(is_there(&run.join("run.json")));
        assert_eq!(remove_remains_of_run(&run), None);
    }

    #[test]
    fn links_and_what_is_no_socket_stay() {
        let runs = tempfile::tempdir().unwrap();
        let (run, theirs) = (runs.path().join("shop"), runs.path().join("theirs"));
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        fs::write(&theirs, "mine").unwrap();
        symlink(&theirs, run.join("agents.join")).unwrap();
        fs::write(run.join("events.sock"), "no socket").unwrap();
        // What is elsewhere is no trial of this run.
        let elsewhere = runs.path().join("elsewhere/.0001-c01-r1.partial");
        fs::create_dir_all(&elsewhere).unwrap();
        symlink(elsewhere.parent().unwrap(), run.join("trials")).unwrap();
        assert_eq!(remove_remains_of_run(&run), None);
        assert!(is_there(&elsewhere));
        assert!(is_there(&theirs) && is_there(&run.join("agents.join")));
    }

    #[test]
    fn a_run_that_is_written_to_keeps_them() {
        let runs = tempfile::tempdir().unwrap();
        let run = runs.path().join("shop");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        fs::write(run.join("agents.join"), "token").unwrap();
        let lock = waggle_results::RunLock::take(&run).unwrap();
        assert_eq!(remove_remains_of_run(&run), None);
        assert!(is_there(&run.join("agents.join")));
        drop(lock);
        assert!(remove_remains_of_run(&run).is_some());
    }
}
