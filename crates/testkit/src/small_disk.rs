//! A disk that becomes full: a file system in memory of a chosen size, in namespaces of its own, so that nobody needs to be root.
//!
//! The namespaces live as long as a process that sleeps in them, so what lies on the disk outlives the servers that use it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::Process;

/// Mounts it, says so, and stays.
const HOLD: &str = "mount -t tmpfs -o \"size=$1\" tmpfs \"$2\" && touch \"$2/.mounted\" \
                    && exec setpriv --pdeathsig KILL -- sleep infinity";

/// A file system of so many bytes; gone with all that is on it when this is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    holder: Process,
    /// Where it is mounted, in its own namespace.
    path: PathBuf,
    _folder: TempDir,
}

impl SmallDisk {
    pub fn start(bytes: u64) -> Self {
        let folder = TempDir::with_prefix("disk-").expect("a folder");
        let path = folder.path().join("disk");
        std::fs::create_dir(&path).expect("a folder to mount on");
        let (size, place) = (bytes.to_string(), path.display().to_string());
        let command = [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            HOLD,
            "hold",
            &size,
            &place,
        ];
        let holder = Process::start("disk", folder.path(), &command, &[]);
        let mut disk = Self {
            holder,
            path,
            _folder: folder,
        };
        let mark = disk.seen_from_here().join(".mounted");
        disk.holder
            .wait_until("mount a file system in its own namespaces (user namespaces must be allowed to this user)", || {
                mark.exists()
            });
        disk
    }

    /// Where it is, for programs that are started by [`Self::enter`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same place for everybody else.
    pub fn seen_from_here(&self) -> PathBuf {
        let root = format!("/proc/{}/root", self.holder.pid());
        Path::new(&root).join(self.path.strip_prefix("/").unwrap_or(&self.path))
    }

    /// What a command begins with that is to see the disk. Its working folder is `/`.
    pub fn enter(&self) -> Vec<String> {
        let target = format!("--target={}", self.holder.pid());
        let words = [
            "nsenter",
            &target,
            "--user",
            "--mount",
            "--preserve-credentials",
            "--",
            // Entering may have taken from it that it ends with the test.
            "setpriv",
            "--pdeathsig",
            "KILL",
            "--",
        ];
        words.map(str::to_owned).into()
    }

    /// Makes it as large as that; what is on it stays.
    pub fn resize(&self, bytes: u64) {
        let enter = self.enter();
        let done = Command::new(&enter[0])
            .args(&enter[1..])
            .args(["mount", "-o", &format!("remount,size={bytes}")])
            .arg(&self.path)
            .status()
            .expect("the program mount");
        assert!(
            done.success(),
            "{} cannot be resized: {done}",
            self.path.display()
        );
    }
}
