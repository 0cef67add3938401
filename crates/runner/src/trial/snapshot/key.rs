//! The name of a snapshot, which follows from its content.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use waggle_study::{Cell, System};

use super::files::hex;

/// Digits of a key: 128 bits.
const DIGITS: usize = 32;
/// Files of a system's folder that are looked at, and their bytes: a system's own scripts and settings.
const FILES_MAX: usize = 10_000;
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What a prepared system follows from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    /// In the configuration of the cell.
    pub(crate) system: &'a System,
    /// The folder of its file.
    pub(crate) system_folder: &'a Path,
    /// Of its pods; `None`: it is processes.
    pub(crate) image: Option<&'a str>,
    pub(crate) cell: &'a Cell,
}

/// The key of a cell's prepared system.
pub(crate) fn key_of(content: Content<'_>) -> Result<String, io::Error> {
    let Content {
        system,
        system_folder,
        image,
        cell,
    } = content;
    let mut sum = Context::new(&SHA256);
    let mut part = |name: &str, bytes: &[u8]| {
        sum.update(name.as_bytes());
        sum.update(&(bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    };
    // Another version may send other requests for the same loads.
    part("waggle", env!("CARGO_PKG_VERSION").as_bytes());
    part("system", format!("{system:?}").as_bytes());
    if let Some(image) = image {
        part("image", image.as_bytes());
    }
    part("parameters", format!("{:?}", cell.parameters).as_bytes());
    part("version", format!("{:?}", cell.version).as_bytes());
    part("preparation", format!("{:?}", cell.preparation).as_bytes());
    let mut bytes = 0;
    for file in files(system_folder)? {
        let content = read(&file)?;
        bytes += content.len() as u64;
        if bytes > BYTES_MAX {
            return Err(too_large(system_folder));
        }
        let name = file.strip_prefix(system_folder).unwrap_or(&file);
        part(&name.to_string_lossy(), &content);
    }
    let mut key = hex(sum);
    key.truncate(DIGITS);
    Ok(key)
}

/// The content of a file, or what is known of a link to nothing or to a folder.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|about| about.is_symlink());
    match fs::metadata(file) {
        Ok(about) if about.is_file() => fs::read(file),
        _ if is_link => Ok(fs::read_link(file)?.into_os_string().into_encoded_bytes()),
        Ok(_) => Ok(Vec::new()),
        Err(why) => Err(why),
    }
    .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", file.display())))
}

/// The files and links below a folder, in the order of their names. Links to folders are not followed.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            let about = fs::symlink_metadata(&path)?;
            if about.is_dir() {
                folders.push(path);
            } else if about.is_file() || about.is_symlink() {
                files.push(path);
            }
            if files.len() + folders.len() > FILES_MAX {
                return Err(too_large(folder));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn too_large(folder: &Path) -> io::Error {
    let folder = folder.display();
    io::Error::other(format!(
        "{folder} has more files than a system's folder should"
    ))
}
