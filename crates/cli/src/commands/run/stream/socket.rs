//! The socket of a run, in its folder. The address of a socket has 107 bytes at most, so it is named through the open folder.

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

const NAME: &str = "events.sock";
/// Its name until it is listened to.
const PARTIAL: &str = ".events.sock.partial";

/// A socket that is listened to; the file is removed with it.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Makes the socket of a run that this process writes to: one that is there is of a killed run.
    pub(super) fn bind(run: &Path) -> io::Result<Self> {
        let folder = open(run)?;
        let (partial, short) = (short_path(&folder, PARTIAL), short_path(&folder, NAME));
        for left in [&partial, &short] {
            if fs::symlink_metadata(left).is_ok_and(|about| about.file_type().is_socket()) {
                fs::remove_file(left)?;
            }
        }
        let socket = Self {
            listener: UnixListener::bind(&partial)?,
            // Other threads may leave this folder, and the file is removed later.
            path: std::path::absolute(run)?.join(NAME),
        };
        socket.listener.set_nonblocking(true)?;
        fs::set_permissions(&partial, Permissions::from_mode(0o600))?;
        // Who finds it by its name can connect.
        fs::rename(&partial, &short)?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// # Errors
/// `NotFound`: the run offers nothing; `ConnectionRefused`: it was killed.
pub(in crate::commands::run) fn connect(run: &Path) -> io::Result<UnixStream> {
    let folder = open(run)?;
    UnixStream::connect(short_path(&folder, NAME))
}

fn open(run: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(run, flags, Mode::empty())?)
}

fn short_path(folder: &OwnedFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}
