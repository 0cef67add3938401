//! Copies folders, with a note of each file by which its copy can be checked.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use waggle_system::problem::Problem;

/// Bytes copied at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// A folder, a file or a link below a folder; other things, such as sockets, belong to a process and are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Entry {
    Folder {
        path: String,
        mode: u32,
    },
    File {
        path: String,
        mode: u32,
        bytes: u64,
        sha256: String,
    },
    Link {
        path: String,
        to: String,
    },
}

impl Entry {
    /// Relative to the folder, with `/` between its parts.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Folder { path, .. } | Self::File { path, .. } | Self::Link { path, .. } => path,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::File { bytes, .. } => *bytes,
            Self::Folder { .. } | Self::Link { .. } => 0,
        }
    }

    /// Writes a file.
    pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<Self> {
        write_private(&folder.join(name), bytes)?;
        let mut sum = Context::new(&SHA256);
        sum.update(bytes);
        Ok(Self::File {
            path: name.to_owned(),
            mode: 0o600,
            bytes: bytes.len() as u64,
            sha256: hex(sum),
        })
    }

    /// Reads a file, and checks it.
    pub(super) fn read(&self, folder: &Path) -> Result<Vec<u8>, Problem> {
        let mut content = Vec::new();
        self.check(folder, &mut content)?;
        Ok(content)
    }

    /// Copies a file to `out` and compares it with the note.
    fn check(&self, folder: &Path, out: &mut impl Write) -> Result<(), Problem> {
        let Self::File {
            path,
            bytes,
            sha256,
            ..
        } = self
        else {
            return Err(Problem(format!("{} is no file", self.path())));
        };
        let copied = File::open(folder.join(path)).and_then(|mut file| copy(&mut file, out));
        let (length, sum) =
            copied.map_err(|why| Problem(format!("{path} cannot be copied: {why}")))?;
        if length != *bytes {
            return Err(Problem(format!(
                "{path} has {length} bytes, and not {bytes}"
            )));
        }
        if sum != *sha256 {
            return Err(Problem(format!("{path} has another checksum")));
        }
        Ok(())
    }
}

/// A folder that only this user may enter.
pub(super) fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// A file that only this user may read.
pub(super) fn write_private(file: &Path, bytes: &[u8]) -> io::Result<()> {
    open_new(file, 0o600)?.write_all(bytes)
}

/// Copies what is in a folder into another one, which is empty; parents come first.
pub(super) fn copy_noted(from: &Path, to: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let mut names: Vec<_> = fs::read_dir(from.join(&folder))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()?;
        names.sort();
        for name in names {
            let relative = folder.join(name);
            let source = from.join(&relative);
            let about = fs::symlink_metadata(&source)?;
            let path = relative
                .to_str()
                .ok_or_else(|| io::Error::other(format!("{} is not UTF-8", source.display())))?
                .to_owned();
            let mode = about.permissions().mode() & 0o7777;
            if about.is_dir() {
                create_private(&to.join(&relative))?;
                entries.push(Entry::Folder { path, mode });
                folders.push(relative);
            } else if about.is_symlink() {
                let target = fs::read_link(&source)?;
                symlink(&target, to.join(&relative))?;
                let target = target.to_string_lossy().into_owned();
                entries.push(Entry::Link { path, to: target });
            } else if about.is_file() {
                let mut out = open_new(&to.join(&relative), 0o600)?;
                let (bytes, sha256) = copy(&mut File::open(&source)?, &mut out)?;
                entries.push(Entry::File {
                    path,
                    mode,
                    bytes,
                    sha256,
                });
            }
        }
    }
    Ok(entries)
}

/// Copies the entries from a folder into another one, and checks each.
pub(super) fn copy_checked(entries: &[Entry], from: &Path, to: &Path) -> Result<(), Problem> {
    for entry in entries {
        let path = entry.path();
        if !is_below(path) {
            return Err(Problem(format!("{path} is not below it")));
        }
        let target = to.join(path);
        let failed = |why: io::Error| Problem(format!("{path} cannot be written: {why}"));
        match entry {
            Entry::Folder { mode, .. } => {
                create_private(&target).map_err(failed)?;
                let permissions = fs::Permissions::from_mode(*mode | 0o700);
                fs::set_permissions(&target, permissions).map_err(failed)?;
            }
            Entry::Link { to, .. } => symlink(to, &target).map_err(failed)?,
            Entry::File { mode, .. } => {
                let mut out = open_new(&target, *mode).map_err(failed)?;
                entry.check(from, &mut out)?;
            }
        }
    }
    Ok(())
}

/// Whether a path has names only.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn open_new(file: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(file)
}

/// Copies to the end; returns the number of bytes and their checksum.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<(u64, String)> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut sum = Context::new(&SHA256);
    let mut bytes = 0;
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok((bytes, hex(sum)));
        }
        sum.update(&piece[..length]);
        to.write_all(&piece[..length])?;
        bytes += length as u64;
    }
}

/// The checksum in hexadecimal digits.
pub(super) fn hex(sum: Context) -> String {
    let digest = sum.finish();
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
