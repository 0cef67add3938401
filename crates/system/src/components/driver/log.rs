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
pub(in crate::components) fn remark(log: &Path, text: &str) {
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
