//! The end of a run, kept in its folder for who asks later: exactly what the run printed, and its exit code, which depends on flags
//! that the results do not have.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use serde::{Deserialize, Serialize};
use waggle_results::private_file;

use super::message::{Ended, FORMAT};

const FILE: &str = "ended.json";
/// A run prints a page.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    #[serde(flatten)]
    ended: Ended,
}

pub(in crate::commands::run) fn write(run: &Path, ended: &Ended) -> io::Result<()> {
    let kept = Kept {
        format: FORMAT,
        ended: ended.clone(),
    };
    let partial = run.join(".ended.json.partial");
    private_file::write_file(&partial, serde_json::to_vec_pretty(&kept)?)?;
    fs::rename(partial, run.join(FILE))
}

/// `None`: the run has not ended, or was killed.
///
/// # Errors
/// The file cannot be read, or is of another version.
pub(in crate::commands::run) fn read(run: &Path) -> io::Result<Option<Ended>> {
    let bytes = match private_file::read_file(&run.join(FILE), FILE_MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(problem) if problem.kind() == ErrorKind::NotFound => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let kept: Kept = serde_json::from_slice(&bytes)?;
    if kept.format != FORMAT {
        return Err(io::Error::other(format!(
            "{FILE} has format {}, and this waggle reads {FORMAT}",
            kept.format
        )));
    }
    Ok(Some(kept.ended))
}

/// Of an earlier run in the same folder.
pub(super) fn remove(run: &Path) {
    fs::remove_file(run.join(FILE)).ok();
}
