//! Files below a folder, whatever links are in it: no part of a path may be a link, so nothing outside the folder is read or written.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Component, Path},
};

use rustix::{
    fd::OwnedFd,
    fs::{CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, symlinkat},
};

/// A folder that stays the same one, wherever it is moved.
#[derive(Debug)]
pub(super) struct Beneath(OwnedFd);

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Beneath {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, folder, flags, Mode::empty())?))
    }

    /// Opens a file to read it. A pipe or device that took its place is refused.
    pub(super) fn read(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = self.in_parent(path, |parent, name| {
            openat(parent, name, flags, Mode::empty())
        })?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(io::Error::other("it is no file")),
        }
    }

    /// Creates a file that is not there yet.
    pub(super) fn create_file(&self, path: &Path, mode: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = self.in_parent(path, |parent, name| {
            openat(parent, name, flags, Mode::from_raw_mode(mode))
        })?;
        Ok(file.into())
    }

    /// Creates a folder that is not there yet.
    pub(super) fn create_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        let folder = self.in_parent(path, |parent, name| {
            mkdirat(parent, name, Mode::RWXU)?;
            openat(parent, name, FOLDER, Mode::empty())
        })?;
        Ok(fchmod(folder, Mode::from_raw_mode(mode))?)
    }

    pub(super) fn create_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.in_parent(path, |parent, name| symlinkat(target, parent, name))
    }

    /// Calls this with the folder in which the path is, and with its name there.
    fn in_parent<T>(
        &self,
        path: &Path,
        act: impl FnOnce(&OwnedFd, &OsStr) -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => names.push(name),
                _ => return Err(io::Error::other("it is not below the folder")),
            }
        }
        let (name, above) = names
            .split_last()
            .ok_or_else(|| io::Error::other("it has no name"))?;
        let mut parent: Option<OwnedFd> = None;
        for folder in above {
            let from = parent.as_ref().unwrap_or(&self.0);
            parent = Some(openat(from, *folder, FOLDER, Mode::empty())?);
        }
        Ok(act(parent.as_ref().unwrap_or(&self.0), name)?)
    }
}
