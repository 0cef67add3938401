//! Copies folders, with a note of each file by which its copy can be checked.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use waggle_results::private_file;
use waggle_system::problem::Problem;

use super::beneath::Beneath;

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
        private_file::write_file(&folder.join(name), bytes)?;
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
        let folder = open(folder)?;
        let mut content = Vec::new();
        self.check(&folder, &mut content)?;
        Ok(content)
    }

    /// Copies a file to `out` and compares it with the note.
    fn check(&self, folder: &Beneath, out: &mut impl Write) -> Result<(), Problem> {
        let Self::File {
            path,
            bytes,
            sha256,
            ..
        } = self
        else {
            return Err(Problem(format!("{} is no file", self.path())));
        };
        let copied = folder
            .read(Path::new(path))
            .and_then(|mut file| copy(&mut file, out));
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

fn open(folder: &Path) -> Result<Beneath, Problem> {
    let opened = Beneath::open(folder);
    opened.map_err(|why| Problem(format!("{} cannot be opened: {why}", folder.display())))
}

/// Copies what is in a folder into another one, which is empty; parents come first.
pub(super) fn copy_noted(from: &Path, to: &Path) -> io::Result<Vec<Entry>> {
    let (beneath, target_folder) = (Beneath::open(from)?, Beneath::open(to)?);
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
                target_folder.create_folder(&relative, 0o700)?;
                entries.push(Entry::Folder { path, mode });
                folders.push(relative);
            } else if about.is_symlink() {
                let target = fs::read_link(&source)?;
                target_folder.create_link(&relative, &target)?;
                let target = target.to_string_lossy().into_owned();
                entries.push(Entry::Link { path, to: target });
            } else if about.is_file() {
                let mut out = target_folder.create_file(&relative, 0o600)?;
                let (bytes, sha256) = copy(&mut beneath.read(&relative)?, &mut out)?;
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
    let (from, to) = (open(from)?, open(to)?);
    for entry in entries {
        let path = entry.path();
        let target = Path::new(path);
        let failed = |why: io::Error| Problem(format!("{path} cannot be written: {why}"));
        match entry {
            Entry::Folder { mode, .. } => {
                to.create_folder(target, *mode | 0o700).map_err(failed)?;
            }
            Entry::Link { to: aim, .. } => {
                to.create_link(target, Path::new(aim)).map_err(failed)?;
            }
            Entry::File { mode, .. } => {
                let mut out = to.create_file(target, *mode).map_err(failed)?;
                entry.check(&from, &mut out)?;
            }
        }
    }
    Ok(())
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
