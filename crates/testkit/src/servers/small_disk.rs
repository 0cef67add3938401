//! A disk that becomes full: a file system in memory of a chosen size, in its own namespaces, so that root is not needed.
//!
//! The namespaces live as long as a process that sleeps in them, so files on the disk outlive the servers that use it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Process, servers::server_folder::server_folder};

/// Mounts it, marks that, and sleeps.
const HOLD: &str = "mount -t tmpfs -o \"size=$1\" tmpfs \"$2\" && touch \"$2/.mounted\" \
                    && exec setpriv --pdeathsig KILL -- sleep infinity";

/// A file system of this size, which is deleted when this is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    holder: Process,
    /// The mount point, in its own namespace.
    path: PathBuf,
    _folder: TempDir,
}

impl SmallDisk {
    pub fn start(bytes: u64) -> Self {
        let folder = server_folder("disk-");
        let path = folder.path().join("disk");
        std::fs::create_dir(&path).expect("a folder to mount on");
        let (size, mount_point) = (bytes.to_string(), path.display().to_string());
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
            &mount_point,
        ];
        let holder = Process::start("disk", folder.path(), &command, &[]);
        let mut disk = Self {
            holder,
            path,
            _folder: folder,
        };
        let mark = disk.host_path().join(".mounted");
        disk.holder
            .wait_until("mount a file system in its own namespaces (user namespaces must be allowed to this user)", || {
                mark.exists()
            });
        disk
    }

    /// The mount point, for programs that are started by [`Self::enter`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder for processes outside the namespace.
    pub fn host_path(&self) -> PathBuf {
        let root = format!("/proc/{}/root", self.holder.pid());
        Path::new(&root).join(self.path.strip_prefix("/").unwrap_or(&self.path))
    }

    /// Prefix of a command that uses the disk. Its working folder is `/`.
    pub fn enter(&self) -> Vec<String> {
        let target = format!("--target={}", self.holder.pid());
        let words = [
            "nsenter",
            &target,
            "--user",
            "--mount",
            "--preserve-credentials",
            "--",
            // Entering may have reset the signal that ends it with the test.
            "setpriv",
            "--pdeathsig",
            "KILL",
            "--",
        ];
        words.map(str::to_owned).into()
    }

    /// Resizes it; files are kept.
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
