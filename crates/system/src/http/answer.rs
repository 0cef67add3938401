//! Whether the answer to a request of a setup or a functional check is the expected one. The crate `load` checks answers under
//! load.

use waggle_study::{BodyExpect, Expect};

/// Characters of an answer that are shown.
const BODY_SHOWN: usize = 300;

/// A whole answer.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a str,
}

impl Answer<'_> {
    /// The beginning of the body, for messages.
    pub fn excerpt(&self) -> String {
        self.body.chars().take(BODY_SHOWN).collect()
    }

    /// Why the answer is not the expected one; `None` if it is.
    pub fn mismatch(&self, expect: &Expect) -> Option<String> {
        let Self { status, body } = *self;
        let is_success = match &expect.status[..] {
            [] => (200..300).contains(&status),
            codes => codes.contains(&status),
        };
        if !is_success {
            let codes: Vec<String> = expect.status.iter().map(u16::to_string).collect();
            let expected = match &codes[..] {
                [] => "2xx".to_owned(),
                codes => codes.join(" or "),
            };
            return Some(format!(
                "expected status {expected}, got {status} with \"{}\"",
                self.excerpt()
            ));
        }
        let absent = match &expect.body {
            BodyExpect::Any => None,
            BodyExpect::Equals(text) if body == text => None,
            BodyExpect::Equals(text) => {
                return Some(format!(
                    "expected the answer \"{text}\", got \"{}\"",
                    self.excerpt()
                ));
            }
            BodyExpect::Contains(texts) => texts.iter().find(|text| !body.contains(text.as_str())),
        };
        absent.map(|text| {
            format!(
                "expected \"{text}\" in the answer, got \"{}\"",
                self.excerpt()
            )
        })
    }
}

/// The body of an answer. It is kept up to a limit; the length is that of the whole body.
#[derive(Debug)]
pub struct LimitedBody {
    pub bytes: Vec<u8>,
    pub length: usize,
    max_bytes: usize,
}

impl LimitedBody {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            length: 0,
            max_bytes,
        }
    }

    pub fn add(&mut self, chunk: &[u8]) {
        self.length += chunk.len();
        if self.length <= self.max_bytes {
            self.bytes.extend_from_slice(chunk);
        }
    }
}

/// The load can search for every text that a study may name.
const _: () = assert!(waggle_study::MAX_BODY_TEXTS <= waggle_load::MAX_BODY_TEXTS);

#[cfg(test)]
mod tests {
    use waggle_study::{BodyExpect, Expect};

    use super::Answer;

    #[test]
    fn an_answer_is_checked_for_status_and_body() {
        let check = |status: &[u16], body: BodyExpect, expected: Option<&str>| {
            let expect = Expect {
                status: status.to_vec(),
                body,
            };
            let answer = Answer {
                status: 201,
                body: "one two",
            };
            assert_eq!(answer.mismatch(&expect).as_deref(), expected, "{expect:?}");
        };
        let contains =
            |texts: &[&str]| BodyExpect::Contains(texts.iter().map(ToString::to_string).collect());
        check(&[], BodyExpect::Any, None);
        check(&[200, 201], BodyExpect::Any, None);
        let why = "expected status 200 or 404, got 201 with \"one two\"";
        check(&[200, 404], contains(&["three"]), Some(why));
        check(&[201], contains(&["two", "one"]), None);
        let why = "expected \"three\" in the answer, got \"one two\"";
        check(&[201], contains(&["one", "three"]), Some(why));
        check(&[], BodyExpect::Equals("one two".to_owned()), None);
        let why = "expected the answer \"one\", got \"one two\"";
        check(&[], BodyExpect::Equals("one".to_owned()), Some(why));
    }
}
