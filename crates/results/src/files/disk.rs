//! Files written as a whole: JSON that can be read again, and is on the disk before a function returns.

use std::{fs::File, io::Write, path::Path};

use serde::{Serialize, de::DeserializeOwned};

use crate::{WriteError, private_file};

/// Pretty JSON that is known to be readable again.
pub(crate) fn json<T: Serialize + DeserializeOwned>(
    path: &Path,
    value: &T,
) -> Result<Vec<u8>, WriteError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice::<T>(&text).map_err(|error| unreadable(path, &error))?;
    text.push(b'\n');
    Ok(text)
}

pub(crate) fn unreadable(path: &Path, error: &serde_json::Error) -> WriteError {
    WriteError::Unreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}

/// Writes a file and waits until the disk has it.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = private_file::create_file(path).map_err(WriteError::io("create", path))?;
    file.write_all(bytes)
        .map_err(WriteError::io("write", path))?;
    file.sync_all().map_err(WriteError::io("sync", path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), WriteError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(WriteError::io("sync", path))
}
