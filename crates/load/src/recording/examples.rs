//! Of each kind of failure the first example: what was wrong with the bytes, or what the server said. Only a failure costs anything, and
//! only the first of its kind an allocation.

use super::outcome::{EXAMPLES_MAX, Example, is_in};
use crate::failure::Failure;

/// Most bytes of a body that are kept; who shows it first takes secrets out, and then cuts it further.
const BODY_MAX_BYTES: usize = 8 * 1024;

/// The examples of one worker.
#[derive(Debug, Default)]
pub(crate) struct Examples(Vec<Example>);

impl Examples {
    /// Keeps the text if it is the first of its kind and not empty; returns the new example.
    #[cold]
    pub(crate) fn note(
        &mut self,
        failure: Failure,
        step: Option<usize>,
        text: impl FnOnce() -> String,
    ) -> Option<&mut Example> {
        if self.0.len() >= EXAMPLES_MAX || self.covers(failure, step) {
            return None;
        }
        let text = text();
        if text.is_empty() {
            return None;
        }
        self.0.push(Example {
            failure,
            step,
            rows: Vec::new(),
            text,
        });
        self.0.last_mut()
    }

    /// Whether an answer with this status would be no new example.
    pub(crate) fn covers_status(&self, status: u16, step: Option<usize>) -> bool {
        self.0.len() >= EXAMPLES_MAX || self.covers(Failure::Status(status), step)
    }

    pub(crate) fn into_vec(self) -> Vec<Example> {
        self.0
    }

    fn covers(&self, failure: Failure, step: Option<usize>) -> bool {
        is_in(&self.0, failure, step)
    }
}

/// The beginning of the body of an answer that has failed by its status.
#[derive(Debug, Default)]
pub(crate) struct FailedBody(Vec<u8>);

impl FailedBody {
    #[cold]
    pub(crate) fn push(&mut self, piece: &[u8]) {
        // One byte more shows that it was cut.
        let room = (BODY_MAX_BYTES + 1).saturating_sub(self.0.len());
        self.0.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// What the server said, by the status too; empty if the body is no text. The next answer begins without a body.
    pub(crate) fn take_text(&mut self, status: u16) -> String {
        answer_text(status, &std::mem::take(&mut self.0))
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a server said in an answer that failed; empty if the body is no text.
pub(crate) fn answer_text(status: u16, body: &[u8]) -> String {
    match excerpt(body) {
        text if text.is_empty() => String::new(),
        text => format!("{status} {text}"),
    }
}

/// A text as examples have it: without control characters, on one line, with single blanks.
#[must_use]
pub fn one_line(text: &str) -> String {
    let printable = text.replace(char::is_control, " ");
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of bytes as one line; empty if they are no text.
fn excerpt(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(BODY_MAX_BYTES)];
    let text = match std::str::from_utf8(cut) {
        Ok(text) => text,
        // A character that was cut through at the end.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&cut[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return String::new(),
    };
    let mut line = one_line(text);
    if bytes.len() > BODY_MAX_BYTES {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::outcome::merge_examples;

    #[test]
    fn an_excerpt_is_one_line_of_text() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(excerpt(bytes), expected);
        check(b"", "");
        check(b"{\r\n  \"error\": \"no\"\t}\n", "{ \"error\": \"no\" }");
        check(b"\x1b[31mred\0", "[31mred");
        check(b"\xff\xfe\x00binary", "");
        let long = "µ".repeat(BODY_MAX_BYTES);
        let cut = format!("{}…", "µ".repeat(BODY_MAX_BYTES / 2));
        check(long.as_bytes(), &cut);
        check(
            format!("x{long}").as_bytes(),
            &format!("x{}…", "µ".repeat(BODY_MAX_BYTES / 2 - 1)),
        );
    }

    #[test]
    fn the_first_of_each_kind_and_step_is_kept() {
        let mut examples = Examples::default();
        for (failure, step, text) in [
            (Failure::Malformed, None, "one"),
            (Failure::Malformed, None, "two"),
            (Failure::Status(401), Some(1), "three"),
            (Failure::Status(401), Some(0), "four"),
            (Failure::Reset, None, ""),
        ] {
            examples.note(failure, step, || text.to_owned());
        }
        let mut merged = examples.into_vec();
        let other = Example {
            failure: Failure::Malformed,
            step: None,
            rows: Vec::new(),
            text: "five".to_owned(),
        };
        merge_examples(&mut merged, vec![other]);
        let texts: Vec<&str> = merged.iter().map(|example| &*example.text).collect();
        assert_eq!(texts, ["one", "four", "three"]);
        for status in 0..1_000 {
            let mut many = Examples::default();
            many.note(Failure::Status(status), None, || "x".to_owned());
            merge_examples(&mut merged, many.into_vec());
        }
        assert_eq!(merged.len(), EXAMPLES_MAX);
    }
}
