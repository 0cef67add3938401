//! The cgroup of one replica, as a plain value: the supervisor makes it, starts the replica in it and removes it, whatever happens
//! to waggle meanwhile.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::counters::{Throttled, oom_kills};

/// The file of a cgroup to which a process writes `0` to enter.
pub(super) const PROCESSES: &str = "cgroup.procs";
/// How often to try to remove a group whose processes have not ended yet.
pub(super) const REMOVALS_MAX: u32 = 100;
const REMOVE_EVERY: Duration = Duration::from_millis(20);

/// A cgroup with limits: one folder in version 2, one for each controller in version 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub(super) folders: Vec<PathBuf>,
    /// Written in this order when the folders are there.
    pub(super) settings: Vec<Setting>,
    /// The group of the supervisor in each hierarchy, to which it returns after it has started the replica.
    pub(super) home: Vec<PathBuf>,
    /// The folder that limits CPU time.
    pub(super) cpu: Option<PathBuf>,
    /// The folder that limits memory, and how many bytes.
    pub(super) memory: Option<(PathBuf, u64)>,
}

/// A file of a cgroup and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// Not every kernel has the file.
    pub(super) is_optional: bool,
}

impl Group {
    /// As an argument of the supervisor.
    pub fn to_argument(&self) -> String {
        serde_json::to_string(self)
            .expect("paths of cgroups are text, for they were read from text")
    }

    /// `None`: the argument is empty.
    pub fn from_argument(text: &str) -> io::Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_str(text)
            .map(Some)
            .map_err(io::Error::other)
    }

    /// Makes the group and calls `start` in it: what that starts is in the group, and the caller is not. If `start` fails, the group
    /// is removed.
    pub fn start_in<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let started = self.make().and_then(|()| {
            let started = self.enter().and_then(|()| start());
            let left = self.leave();
            started.and_then(|started| left.map(|()| started))
        });
        if started.is_err() {
            self.remove();
        }
        started
    }

    pub(super) fn make(&self) -> io::Result<()> {
        for folder in &self.folders {
            fs::create_dir(folder).map_err(|why| problem("make", folder, &why))?;
        }
        for setting in &self.settings {
            let Setting { file, text, .. } = setting;
            if setting.is_optional && !file.exists() {
                continue;
            }
            fs::write(file, text).map_err(|why| problem("set", file, &why))?;
        }
        Ok(())
    }

    fn enter(&self) -> io::Result<()> {
        write_own_id(&self.folders, "enter")
    }

    fn leave(&self) -> io::Result<()> {
        write_own_id(&self.home, "return to")
    }

    /// Kills the processes in the group and removes it. Problems are ignored: the next run tries again.
    pub fn remove(&self) {
        for folder in &self.folders {
            remove_folder(folder, REMOVALS_MAX);
        }
    }

    /// How often and how long the replica was throttled so far; `None`: its CPU time is not limited, or the group is gone.
    pub fn read_throttled(&self) -> Option<Throttled> {
        let text = fs::read_to_string(self.cpu.as_ref()?.join("cpu.stat")).ok()?;
        Throttled::parse(&text)
    }

    /// How many of its processes the kernel has killed because the group was out of memory; 0 if the group is gone.
    pub fn oom_kills(&self) -> u64 {
        let folder = self.memory.as_ref().map(|(folder, _)| folder);
        folder.map_or(0, |folder| oom_kills(folder))
    }

    /// The limit on memory in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.memory.as_ref().map(|(_, bytes)| *bytes)
    }
}

fn write_own_id(folders: &[PathBuf], attempt: &str) -> io::Result<()> {
    for folder in folders {
        // 0: the process that writes.
        fs::write(folder.join(PROCESSES), "0").map_err(|why| problem(attempt, folder, &why))?;
    }
    Ok(())
}

fn problem(attempt: &str, path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(
        why.kind(),
        format!("cannot {attempt} the cgroup {}: {why}", path.display()),
    )
}

/// Removes a group; processes in it are killed.
pub(super) fn remove_folder(folder: &Path, tries: u32) {
    for attempt in 0..tries {
        match fs::remove_dir(folder) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {}
            _ => return,
        }
        kill_members(folder);
        if attempt + 1 < tries {
            thread::sleep(REMOVE_EVERY);
        }
    }
}

fn kill_members(folder: &Path) {
    let text = fs::read_to_string(folder.join(PROCESSES)).unwrap_or_default();
    let own_pid = rustix::process::getpid();
    let members = text.lines().filter_map(|line| line.parse().ok());
    for pid in members.filter_map(Pid::from_raw) {
        if pid != own_pid {
            rustix::process::kill_process(pid, Signal::KILL).ok();
        }
    }
}
