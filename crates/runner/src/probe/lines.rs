//! From the bytes of a store's answer to lines, and from a line to the stamps of its record. Pure.

use memchr::{memchr, memmem::Finder, memrchr};

/// A longer line is not one of ours and is skipped.
pub(super) const LINE_MAX_BYTES: usize = 1024 * 1024;

/// Joins chunks into lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The current line is too long and is skipped up to its end.
    skipping: bool,
    /// Lines that were too long.
    pub(crate) skipped: u64,
}

impl Lines {
    /// Passes every line that `chunk` completes to `line`, without its line feed.
    pub(crate) fn add(&mut self, mut chunk: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (head, tail) = chunk.split_at(end);
            if std::mem::take(&mut self.skipping) {
                self.rest.clear();
            } else if self.rest.is_empty() {
                line(head);
            } else {
                self.rest.extend_from_slice(head);
                line(&self.rest);
                self.rest.clear();
            }
            chunk = &tail[1..];
        }
        if self.rest.len() + chunk.len() > LINE_MAX_BYTES && !self.skipping {
            self.skipping = true;
            self.skipped += 1;
        }
        if !self.skipping {
            self.rest.extend_from_slice(chunk);
        }
    }

    /// The answer is complete: its last line may have no line feed.
    pub(crate) fn end(&mut self, mut line: impl FnMut(&[u8])) {
        if !self.rest.is_empty() && !self.skipping {
            line(&self.rest);
        }
        self.forget();
    }

    /// The answer was aborted: the incomplete line will be read again.
    pub(crate) fn forget(&mut self) {
        self.rest.clear();
        self.skipping = false;
    }
}

/// The text directly before each number of a line.
#[derive(Debug)]
pub(crate) struct Markers {
    offset: Option<Finder<'static>>,
    arrival: Option<Finder<'static>>,
    key: Finder<'static>,
    /// `None`: every line is of this run.
    run: Option<Finder<'static>>,
    /// `None`: the time ends the line.
    time: Option<Finder<'static>>,
}

/// The same as text, from a system's file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks<'a> {
    pub(crate) offset: Option<&'a str>,
    pub(crate) arrival: Option<&'a str>,
    pub(crate) key: &'a str,
    pub(crate) run: Option<&'a str>,
    pub(crate) time: Option<&'a str>,
}

/// The content of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) offset: Option<u64>,
    /// `None`: not a record of this run.
    pub(crate) stamp: Option<RowStamp>,
}

/// The stamps of a record of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowStamp {
    pub(crate) key: u64,
    pub(crate) time_ns: u64,
}

impl Markers {
    pub(crate) fn new(marks: Marks<'_>) -> Self {
        let finder = |text: &str| Finder::new(text.as_bytes()).into_owned();
        Self {
            offset: marks.offset.map(finder),
            arrival: marks.arrival.map(finder),
            key: finder(marks.key),
            run: marks.run.map(finder),
            time: marks.time.map(finder),
        }
    }

    /// Reads a line; `run` is the mark of this run's records.
    pub(crate) fn read(&self, line: &[u8], run: &[u8]) -> Row {
        Row {
            offset: self
                .offset
                .as_ref()
                .and_then(|finder| number(text_after_marker(line, finder)?)),
            stamp: self.stamp(line, run),
        }
    }

    /// When the store had the record of a line, if the line says so.
    pub(crate) fn arrived_ns(&self, line: &[u8]) -> Option<u64> {
        number(text_after_marker(line, self.arrival.as_ref()?)?)
    }

    /// The stamps of a line's record, if it is of this run.
    pub(crate) fn stamp(&self, line: &[u8], run: &[u8]) -> Option<RowStamp> {
        if let Some(finder) = &self.run {
            let rest = text_after_marker(line, finder)?.strip_prefix(run)?;
            // A longer mark with this prefix belongs to another run.
            if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
                return None;
            }
        }
        let time = match &self.time {
            Some(finder) => text_after_marker(line, finder)?,
            None => {
                let line = line.trim_ascii_end();
                &line[memrchr(b' ', line)? + 1..]
            }
        };
        Some(RowStamp {
            key: number(text_after_marker(line, &self.key)?)?,
            time_ns: number(time)?,
        })
    }
}

fn text_after_marker<'a>(line: &'a [u8], marker: &Finder<'_>) -> Option<&'a [u8]> {
    let position = marker.find(line)?;
    Some(&line[position + marker.needle().len()..])
}

/// The digits at the start of `text`; stores may write one space or quote before them.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut value = None;
    for digit in digits {
        let before = value.unwrap_or(0u64);
        value = Some(
            before
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?,
        );
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Lines, Markers, Marks, Row, RowStamp};

    fn markers() -> Markers {
        Markers::new(Marks {
            offset: Some("\"offset\":"),
            arrival: Some("\"committed\":"),
            key: "\"waggle_key\":",
            run: Some("\"waggle_run\":\""),
            time: Some("\"time\":"),
        })
    }

    #[track_caller]
    fn check(line: &str, offset: Option<u64>, stamp: Option<(u64, u64)>) {
        let stamp = stamp.map(|(key, time_ns)| RowStamp { key, time_ns });
        assert_eq!(
            markers().read(line.as_bytes(), b"r1"),
            Row { offset, stamp }
        );
    }

    #[test]
    fn rows_of_this_run_are_recognized() {
        check(
            r#"{"offset":7,"time":9,"tags":{"waggle_run":"r1"},"waggle_key":5}"#,
            Some(7),
            Some((5, 9)),
        );
        check(
            r#"{"waggle_key": 5,"waggle_run":"r1","time":"9","offset":7}"#,
            Some(7),
            Some((5, 9)),
        );
        check(
            r#"{"offset":7,"time":9,"waggle_run":"r12","waggle_key":5}"#,
            Some(7),
            None,
        );
        check(
            r#"{"offset":7,"time":9,"waggle_run":"r2","waggle_key":5}"#,
            Some(7),
            None,
        );
        check(
            r#"{"offset":7,"time":9,"waggle_run":"r1","waggle_key":x}"#,
            Some(7),
            None,
        );
        check(
            r#"{"offset":7,"time":-9,"waggle_run":"r1","waggle_key":5}"#,
            Some(7),
            None,
        );
        check(r#"{"offset":99999999999999999999,"value":1}"#, None, None);
        check("", None, None);
    }

    #[test]
    fn the_store_may_say_when_it_had_a_record() {
        let arrived = |line: &str| markers().arrived_ns(line.as_bytes());
        assert_eq!(arrived(r#"{"offset":7,"committed":12,"time":9}"#), Some(12));
        assert_eq!(arrived(r#"{"offset":7,"time":9}"#), None);
        assert_eq!(arrived(r#"{"offset":7,"committed":-1}"#), None);
    }

    #[test]
    fn line_protocol_has_its_time_at_the_end() {
        let read = |run: Option<&str>, line: &str| {
            let marks = Marks {
                offset: None,
                arrival: None,
                key: "waggle_key=",
                run,
                time: None,
            };
            let stamp = Markers::new(marks).stamp(line.as_bytes(), b"r1");
            stamp.map(|stamp| (stamp.key, stamp.time_ns))
        };
        let line = "m,host=a,waggle_run=r1 text=\"a b\",waggle_key=5i 17";
        assert_eq!(read(Some("waggle_run="), line), Some((5, 17)));
        assert_eq!(read(None, "m waggle_key=5i 17\r"), Some((5, 17)));
        for wrong in [
            "m,waggle_run=r2 waggle_key=5i 17",
            "m,waggle_run=r1 waggle_key=5i",
            "m,waggle_run=r1 value=5i 17",
            "",
        ] {
            assert_eq!(read(Some("waggle_run="), wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_left_out_and_the_next_one_is_read() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        for chunk in [&vec![b'x'; super::LINE_MAX_BYTES + 1][..], b"yy\nnext\n"] {
            lines.add(chunk, |line| seen.push(line.to_vec()));
        }
        assert_eq!(seen, vec![b"next".to_vec()]);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_wherever_chunks_end(
            parts in prop::collection::vec("[a-z\n]{0,12}", 0..20),
        ) {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for part in &parts {
                lines.add(part.as_bytes(), |line| seen.push(String::from_utf8(line.to_vec()).unwrap()));
            }
            lines.end(|line| seen.push(String::from_utf8(line.to_vec()).unwrap()));
            let whole = parts.concat();
            let expected: Vec<String> = whole.lines().map(str::to_owned).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
