//! Splits a message's value into lines for the database and wrong lines. No I/O.

use std::ops::Range;

use waggle_record::{
    Mistake, Precision,
    line_protocol::{self, Line},
};

/// Most wrong lines of one message that become letters of their own; the rest of the message becomes one letter.
pub(crate) const WRONG_MAX: usize = 100;

/// The lines of a message. It is reused, so that parsing a message allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct ParsedMessage {
    pub(crate) lines: Vec<ParsedLine>,
    pub(crate) wrong: Vec<RejectedLine>,
}

/// A good line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedLine {
    /// Its bytes in the value, without a line break at the end.
    pub(crate) text: Range<usize>,
    /// Number of its line in the value, from 1.
    pub(crate) number: usize,
}

/// A part of the message that cannot be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RejectedLine {
    pub(crate) text: Range<usize>,
    pub(crate) number: usize,
    pub(crate) reason: String,
}

impl ParsedMessage {
    /// Parses a message's value; replaces the previous lines.
    pub(crate) fn read(&mut self, value: &[u8]) {
        self.lines.clear();
        self.wrong.clear();
        let mut breaks = Breaks {
            value,
            line: 1,
            at: 0,
        };
        // Everything before it is in one of the two lists.
        let mut after = 0;
        for item in line_protocol::lines(value) {
            let (text, number, reason) = match item {
                Ok(line) => {
                    let start = line.raw.as_ptr().addr() - value.as_ptr().addr();
                    let text = start..start + line.raw.len();
                    after = text.end;
                    match missing_time(&line) {
                        None => {
                            let number = line.number;
                            self.lines.push(ParsedLine { text, number });
                            continue;
                        }
                        Some(reason) => (text, line.number, reason),
                    }
                }
                Err(mistake) => {
                    let (text, number) = breaks.wrong_text(after, &mistake);
                    after = text.end;
                    (text, number, mistake.to_string())
                }
            };
            if self.wrong.len() == WRONG_MAX {
                self.rest(text.start..value.len(), number, &reason);
                return;
            }
            self.wrong.push(RejectedLine {
                text,
                number,
                reason,
            });
        }
    }

    fn rest(&mut self, text: Range<usize>, number: usize, reason: &str) {
        self.wrong.push(RejectedLine {
            text,
            number,
            reason: format!(
                "{WRONG_MAX} earlier lines are wrong, and the rest was not parsed: {reason}"
            ),
        });
    }
}

/// Why a line needs a time: without one, the database would store each repeated delivery as another record.
fn missing_time(line: &Line<'_>) -> Option<String> {
    match line.time_ns(Precision::Nanoseconds) {
        Ok(Some(_)) => None,
        Ok(None) => Some(format!(
            "line {}: expected a time in nanoseconds at the end of the line, found none",
            line.number
        )),
        Err(mistake) => Some(mistake.to_string()),
    }
}

/// Iterates over the lines of a value, for the few whose positions are needed.
struct Breaks<'a> {
    value: &'a [u8],
    /// Number and first byte of the current line.
    line: usize,
    at: usize,
}

impl Breaks<'_> {
    /// The range of the lines with a mistake, and the number of the first: from the first one after `after` that is neither blank
    /// nor a comment, because a quoted text may have started lines before.
    fn wrong_text(&mut self, after: usize, mistake: &Mistake) -> (Range<usize>, usize) {
        while self.at < after || is_passed(&self.value[self.at..self.line_end()]) {
            if self.line >= mistake.line || !self.step() {
                break;
            }
        }
        let (start, number) = (self.at, self.line);
        while self.line < mistake.line && self.step() {}
        let end = self.line_end();
        (start.min(end)..end, number)
    }

    fn line_end(&self) -> usize {
        memchr::memchr(b'\n', &self.value[self.at..])
            .map_or(self.value.len(), |newline| self.at + newline)
    }

    /// Advances to the next line, if there is one.
    fn step(&mut self) -> bool {
        let end = self.line_end();
        if end == self.value.len() {
            return false;
        }
        self.at = end + 1;
        self.line += 1;
        true
    }
}

/// Blank or a comment.
fn is_passed(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line[0] == b'#'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The good lines and the wrong ones, each with its number.
    fn check(value: &str, good: &[(usize, &str)], wrong: &[(usize, &str, &str)]) {
        let mut reading = ParsedMessage::default();
        // Lines of an earlier message are dropped.
        reading.read(b"a b=1 1\nx");
        reading.read(value.as_bytes());
        let lines: Vec<(usize, &str)> = (reading.lines.iter())
            .map(|line| (line.number, &value[line.text.clone()]))
            .collect();
        assert_eq!(lines, good, "good lines of {value:?}");
        let lines: Vec<(usize, &str)> = (reading.wrong.iter())
            .map(|line| (line.number, &value[line.text.clone()]))
            .collect();
        let expected: Vec<(usize, &str)> = (wrong.iter())
            .map(|(number, text, _)| (*number, *text))
            .collect();
        assert_eq!(lines, expected, "wrong lines of {value:?}");
        for (line, (_, _, reason)) in reading.wrong.iter().zip(wrong) {
            assert!(line.reason.contains(reason), "{:?}", line.reason);
        }
    }

    #[test]
    fn good_lines_are_found_where_they_lie() {
        check("", &[], &[]);
        check("\n# a comment\n\n", &[], &[]);
        check("a b=1 1", &[(1, "a b=1 1")], &[]);
        check("a b=1 1\na b=2 2\n", &[(1, "a b=1 1"), (2, "a b=2 2")], &[]);
        check(
            "# x\r\n a b=1 1 \r\n\na b=2 2",
            &[(2, "a b=1 1"), (4, "a b=2 2")],
            &[],
        );
        check(
            "a b=\"x\ny\" 1\na b=2 2",
            &[(1, "a b=\"x\ny\" 1"), (3, "a b=2 2")],
            &[],
        );
    }

    #[test]
    fn wrong_lines_are_put_aside_and_the_rest_is_read() {
        check(
            "a b=1 1\nnonsense\na b=2 2",
            &[(1, "a b=1 1"), (3, "a b=2 2")],
            &[(
                2,
                "nonsense",
                "line 2, column 9: expected a space and fields",
            )],
        );
        check(
            "# c\n\na b=x 1\n\n# d\na b= 2",
            &[],
            &[(3, "a b=x 1", "line 3"), (6, "a b= 2", "line 6")],
        );
        check("a b=1", &[], &[(1, "a b=1", "expected a time")]);
        check(
            "a b=1 9223372036854775807\na b=1 1",
            &[(2, "a b=1 1")],
            &[(1, "a b=1 9223372036854775807", "expected a time between")],
        );
    }

    #[test]
    fn rejected_line_over_several_rows_is_complete() {
        check(
            "a b=1 1\nm x=\"1\n2\",y=z 5\na b=2 2",
            &[(1, "a b=1 1"), (4, "a b=2 2")],
            &[(2, "m x=\"1\n2\",y=z 5", "line 3")],
        );
    }

    #[test]
    fn a_message_of_nonsense_does_not_become_a_flood() {
        let value = "x\n".repeat(5000) + "a b=1 1";
        let mut reading = ParsedMessage::default();
        reading.read(value.as_bytes());
        assert_eq!(reading.lines, []);
        assert_eq!(reading.wrong.len(), WRONG_MAX + 1);
        let last = &reading.wrong[WRONG_MAX];
        assert_eq!((last.number, last.text.end), (101, value.len()));
        assert_eq!(last.text.start, 200);
    }

    proptest::proptest! {
        /// Every byte but white space and comments is in exactly one of the two lists.
        #[test]
        fn nothing_is_skipped(value in "([a-c]{1,2}[ =,\"\n#]{1,2}|a b=1 1\n){0,12}") {
            let mut reading = ParsedMessage::default();
            reading.read(value.as_bytes());
            let mut ranges: Vec<Range<usize>> = (reading.lines.iter().map(|line| line.text.clone()))
                .chain(reading.wrong.iter().map(|wrong| wrong.text.clone()))
                .collect();
            ranges.sort_by_key(|range| range.start);
            let mut after = 0;
            for range in ranges {
                proptest::prop_assert!(range.start >= after, "{:?} after {}", range, after);
                let between = &value[after..range.start];
                proptest::prop_assert!(between.lines().all(|line| is_passed(line.as_bytes())), "{between:?}");
                after = range.end;
            }
            let left = &value[after..];
            proptest::prop_assert!(left.lines().all(|line| is_passed(line.as_bytes())), "{left:?}");
        }
    }
}
