//! The log of a replica: bounded in size, and without the secrets that are known when it is written.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, PipeReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use super::redaction::Redaction;

/// Bytes of a log that are kept from its beginning.
pub const LOG_HEAD_MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of a longer log that are kept from its end.
const LOG_TAIL_MAX_BYTES: usize = 256 * 1024;
/// The text in a log in place of bytes that were left out: before and after their number.
const LEFT_OUT: [&str; 2] = ["\n[waggle left out ", " bytes here]\n"];

/// A log file of bounded size, over all lives of a replica: its beginning and its end are kept.
pub(super) struct Log {
    file: File,
    /// What is written goes through it.
    redaction: Arc<Mutex<Redaction>>,
    head_left: u64,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Log {
    /// Continues the log of an earlier life of the same replica, which counts towards its limit.
    pub(super) fn open(path: &Path, redaction: Arc<Mutex<Redaction>>) -> io::Result<Self> {
        let mut options = File::options();
        let file = options
            .create(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(path)?;
        let before = file.metadata()?.len();
        let mut log = Self {
            file,
            redaction,
            head_left: LOG_HEAD_MAX_BYTES.saturating_sub(before),
            tail: VecDeque::new(),
            left_out: 0,
        };
        log.take_up_tail()?;
        Ok(log)
    }

    /// The text that earlier lives left after the head is the start of this one's tail.
    fn take_up_tail(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(LOG_HEAD_MAX_BYTES))?;
        let mut behind = Vec::new();
        // A tail and waggle's own lines, of which there are few.
        let at_most = 2 * LOG_TAIL_MAX_BYTES as u64;
        (&self.file).take(at_most).read_to_end(&mut behind)?;
        let (left_out, tail) = left_out_before(&behind);
        self.left_out = left_out;
        self.add_to_tail(tail);
        Ok(())
    }

    pub(super) fn keep(mut self, mut from: PipeReader) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.add_redacted(&buffer[..length], false),
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.add_redacted(b"", true);
        self.end().ok();
    }

    fn add_redacted(&mut self, bytes: &[u8], is_end: bool) {
        let clean = {
            let mut redaction = self
                .redaction
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            redaction.pass(bytes, is_end)
        };
        self.add(&clean);
    }

    /// Writes the tail over that of an earlier life.
    fn end(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > LOG_HEAD_MAX_BYTES {
            self.file.set_len(LOG_HEAD_MAX_BYTES)?;
        }
        if self.left_out > 0 {
            let [before, behind] = LEFT_OUT;
            write!(self.file, "{before}{}{behind}", self.left_out)?;
        }
        let (front, back) = self.tail.as_slices();
        self.file.write_all(front)?;
        self.file.write_all(back)
    }

    /// A full disk must not stop the component: bytes that cannot be written are dropped.
    fn add(&mut self, bytes: &[u8]) {
        let head = usize::try_from(self.head_left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.file.write_all(&bytes[..head]).ok();
        self.head_left -= head as u64;
        self.add_to_tail(&bytes[head..]);
    }

    fn add_to_tail(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(LOG_TAIL_MAX_BYTES);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }
}

/// The number of bytes left out according to the line at the start of `bytes`, and the rest after that line.
fn left_out_before(bytes: &[u8]) -> (u64, &[u8]) {
    read_left_out(bytes).unwrap_or((0, bytes))
}

fn read_left_out(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = bytes.strip_prefix(LEFT_OUT[0].as_bytes())?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    let number = str::from_utf8(number).ok()?.parse().ok()?;
    Some((number, rest.strip_prefix(LEFT_OUT[1].as_bytes())?))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, path::Path, sync::Arc, thread};

    use super::{LOG_HEAD_MAX_BYTES, LOG_TAIL_MAX_BYTES, Log};

    /// The content of a log file after lines of `line` up to `bytes`, then `last`.
    fn rotated_log(line: &str, bytes: usize, last: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        kept_in(&folder.path().join("log"), line, bytes, last)
    }

    /// The same in a file that may have content already.
    fn kept_in(path: &Path, line: &str, bytes: usize, last: &str) -> String {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let log = Log::open(path, Arc::default()).unwrap();
        let keeper = thread::spawn(move || log.keep(reader));
        writer
            .write_all(line.repeat(bytes / line.len()).as_bytes())
            .unwrap();
        writer.write_all(last.as_bytes()).unwrap();
        drop(writer);
        keeper.join().unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_log_within_the_limit_is_kept_whole() {
        assert_eq!(rotated_log("ab\n", 9, "end"), "ab\nab\nab\nend");
    }

    #[test]
    fn a_second_life_goes_on_in_the_log_of_the_first_and_within_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        kept_in(&path, "ab\n", 3, "end");
        let log = kept_in(&path, "cd\n", 3, "last");
        assert_eq!(log, "ab\nendcd\nlast");
        let head = usize::try_from(LOG_HEAD_MAX_BYTES).unwrap();
        let log = kept_in(&path, "0123456\n", head + LOG_TAIL_MAX_BYTES, "last words");
        assert!(log.starts_with("ab\nend") && log.ends_with("last words"));
        assert!(log.len() < head + LOG_TAIL_MAX_BYTES + 200, "{}", log.len());
        // This holds for any number of lives, and the numbers of left-out bytes are added up.
        let mut all = "ab\nendcd\nlast".len() + head + LOG_TAIL_MAX_BYTES + "last words".len();
        for life in 0..3 {
            let said = kept_in(&path, "abcdefg\n", LOG_TAIL_MAX_BYTES / 2, "x");
            all += LOG_TAIL_MAX_BYTES / 2 + 1;
            let left_out = all - head - LOG_TAIL_MAX_BYTES;
            let line = format!("\n[waggle left out {left_out} bytes here]\n");
            assert_eq!(said.len(), head + line.len() + LOG_TAIL_MAX_BYTES, "{life}");
            assert_eq!(said.matches("[waggle left out").count(), 1, "{life}");
            assert!(
                said[head..].starts_with(&line),
                "{life}: {}",
                &said[head..head + 60]
            );
            assert!(said.starts_with("ab\nend") && said.ends_with("abcdefg\nx"));
        }
        // A life without output leaves the log unchanged.
        let before = fs::read(&path).unwrap();
        assert_eq!(kept_in(&path, "-", 0, "").into_bytes(), before);
    }

    #[test]
    fn of_a_longer_log_the_beginning_and_the_end_are_kept() {
        let head = usize::try_from(LOG_HEAD_MAX_BYTES).unwrap();
        let log = rotated_log("0123456\n", head + 3 * LOG_TAIL_MAX_BYTES, "last words");
        assert!(log.starts_with("0123456\n") && log.ends_with("last words"));
        assert!(log.contains(&format!(
            "[waggle left out {} bytes here]",
            2 * LOG_TAIL_MAX_BYTES + 10
        )));
        assert!(log.len() < head + LOG_TAIL_MAX_BYTES + 100);
    }
}
