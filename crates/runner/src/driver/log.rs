//! A component's log: its last lines, for the reason of a failure, and waggle's own lines between two lives.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// Bytes that are read from the end of a log.
const TAIL_MAX_BYTES: u64 = 8 * 1024;
const TAIL_MAX_LINES: usize = 20;

/// Writes a line of waggle's own. Errors, such as a full disk, are ignored.
pub(super) fn remark(log: &Path, text: &str) {
    let file = File::options().create(true).append(true).open(log);
    file.and_then(|mut file| file.write_all(format!("\n[waggle {text}]\n").as_bytes()))
        .ok();
}

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
