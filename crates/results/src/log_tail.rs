//! The last lines of a component's log: the evidence of a failure, and what a system said in a trial.

use std::{
    fs, io,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use crate::private_file;

/// Bytes that are read from the end of a log.
const TAIL_MAX_BYTES: u64 = 8 * 1024;
const TAIL_MAX_LINES: usize = 20;
/// Logs of a trial that are read.
const LOGS_MAX: usize = 64;

/// The end of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// Its file, without the folder.
    pub name: String,
    pub lines: Vec<String>,
}

/// The ends of the logs in a folder that have any line, by name. What cannot be read is left out: a log is no result.
pub(crate) fn log_tails(folder: &Path) -> Vec<LogTail> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    let names = names
        .iter()
        .take(LOGS_MAX)
        .map(|name| name.to_string_lossy());
    let tails = names.filter_map(|name| named_tail(folder, &name));
    tails.filter(has_text).collect()
}

fn named_tail(folder: &Path, name: &str) -> Option<LogTail> {
    let lines = log_tail(&folder.join(name)).ok()?;
    let name = name.to_owned();
    Some(LogTail { name, lines })
}

fn has_text(log: &LogTail) -> bool {
    log.lines.iter().any(|line| !line.trim().is_empty())
}

/// The last lines of a log.
///
/// # Errors
/// It is a link, a pipe or a device, or cannot be read.
pub fn log_tail(log: &Path) -> io::Result<Vec<String>> {
    let mut file = private_file::open_file(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(TAIL_MAX_LINES);
    Ok(lines[skipped..]
        .iter()
        .map(|line| without_control_sequences(line))
        .collect())
}

/// The text of a line that may have been written for a terminal, as Maven does: without colours and control characters.
fn without_control_sequences(line: &str) -> String {
    // A progress bar is written over itself.
    let line = line.trim_end_matches('\r');
    let line = line.rsplit_once('\r').map_or(line, |(_, last)| last);
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        if next == '\u{1b}' && rest.next_if_eq(&'[').is_some() {
            // Parameters, and one character that ends the sequence (ECMA-48, 5.4).
            while rest.next_if(|next| (' '..='?').contains(next)).is_some() {}
            rest.next_if(|next| ('@'..='~').contains(next));
        } else if next == '\t' || !next.is_control() {
            text.push(next);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::without_control_sequences;

    #[test]
    fn lines_have_no_control_sequences() {
        let check = |line: &str, expected: &str| {
            assert_eq!(without_control_sequences(line), expected, "{line:?}");
        };
        check("a\tµ b", "a\tµ b");
        check("\u{1b}[1;31mERROR\u{1b}[0m no\r", "ERROR no");
        check("\u{1b}[0m\u{1b}[0m", "");
        check("\u{1b}]0;title\u{7}", "]0;title");
        check("cut \u{1b}[1", "cut ");
        check("\u{1b}[é", "é");
        check("10%\r20%\r100%\r", "100%");
    }
}
