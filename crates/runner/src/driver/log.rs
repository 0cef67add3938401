//! The last lines of a component's log, for a failure's reason.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// Bytes from the end of a log that are looked at.
const TAIL_MAX_BYTES: u64 = 8 * 1024;
const TAIL_MAX_LINES: usize = 20;

/// The last lines of a log.
pub(super) fn tail(log: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(TAIL_MAX_LINES);
    Ok(lines[skipped..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect())
}
