//! Whether an answer is as expected. Bodies are matched piece by piece and never kept.

use waggle_wire::http1::answer::Answer;

use crate::{
    failure::Failure,
    requests::expect::{BodyCheck, Expect, MAX_BODY_TEXTS},
};

/// The compiled form of [`Expect`].
#[derive(Debug)]
pub(crate) struct AnswerMatcher {
    /// Expected status codes, a bit each.
    status: [u64; 16],
    body: BodyRule,
}

#[derive(Debug)]
enum BodyRule {
    Any,
    Equals(Vec<u8>),
    Contains(Vec<Needle>),
}

/// A text that a body is searched for.
#[derive(Debug)]
struct Needle {
    text: Vec<u8>,
    /// The failure table of Knuth, Morris and Pratt, because a match may span two pieces.
    fallbacks: Vec<usize>,
}

/// The state of matching the body of the current answer.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct BodyMatch {
    /// Length of the current match with each text.
    matched: [usize; MAX_BODY_TEXTS],
    differs: bool,
}

impl AnswerMatcher {
    pub(crate) fn new(expect: &Expect) -> Self {
        let mut status = [0; 16];
        let successes: Vec<u16> = (200..300).collect();
        let expected = if expect.status.is_empty() {
            &successes
        } else {
            &expect.status
        };
        for &code in expected {
            if let Some(word) = status.get_mut(usize::from(code / 64)) {
                *word |= 1 << (code % 64);
            }
        }
        let body = match &expect.body {
            BodyCheck::Any => BodyRule::Any,
            BodyCheck::Equals(bytes) => BodyRule::Equals(bytes.clone()),
            BodyCheck::Contains(texts) => {
                let texts = texts.iter().filter(|text| !text.is_empty());
                let needles = texts.map(|text| Needle {
                    text: text.clone(),
                    fallbacks: fallbacks(text),
                });
                BodyRule::Contains(needles.take(MAX_BODY_TEXTS).collect())
            }
        };
        Self { status, body }
    }

    /// Whether a status is a success.
    #[inline]
    pub(crate) fn expects(&self, status: u16) -> bool {
        let word = self.status.get(usize::from(status / 64)).copied();
        word.unwrap_or(0) >> (status % 64) & 1 == 1
    }

    /// Matches the next piece of a body.
    #[inline(always)]
    pub(crate) fn body(&self, body_match: &mut BodyMatch, piece: &[u8]) {
        if !matches!(self.body, BodyRule::Any) {
            self.match_piece(body_match, piece);
        }
    }

    #[inline(never)]
    fn match_piece(&self, body_match: &mut BodyMatch, piece: &[u8]) {
        match &self.body {
            BodyRule::Any => {}
            BodyRule::Equals(expected) => {
                let matched = &mut body_match.matched[0];
                body_match.differs |= !expected[*matched..].starts_with(piece);
                *matched = (*matched + piece.len()).min(expected.len());
            }
            BodyRule::Contains(needles) => {
                for (needle, matched) in needles.iter().zip(&mut body_match.matched) {
                    needle.search(piece, matched);
                }
            }
        }
    }

    /// Checks a complete answer, status first, and resets the state.
    #[inline(always)]
    pub(crate) fn check(&self, body_match: &mut BodyMatch, answer: Answer) -> Result<(), Failure> {
        let is_expected = self.expects(answer.status);
        match &self.body {
            BodyRule::Any if is_expected => Ok(()),
            _ => self.check_matches(std::mem::take(body_match), is_expected, answer),
        }
    }

    #[inline(never)]
    fn check_matches(
        &self,
        body_match: BodyMatch,
        is_expected: bool,
        answer: Answer,
    ) -> Result<(), Failure> {
        if !is_expected {
            return Err(Failure::Status(answer.status));
        }
        let agrees = match &self.body {
            BodyRule::Any => true,
            BodyRule::Equals(expected) => {
                !body_match.differs && body_match.matched[0] == expected.len()
            }
            BodyRule::Contains(needles) => {
                let mut both = needles.iter().zip(body_match.matched);
                both.all(|(needle, matched)| matched == needle.text.len())
            }
        };
        if agrees {
            Ok(())
        } else {
            Err(Failure::WrongBody)
        }
    }
}

impl Needle {
    /// Continues the search in the next piece of a body, from a match of `matched` bytes.
    #[inline]
    fn search(&self, piece: &[u8], matched: &mut usize) {
        for &byte in piece {
            if *matched == self.text.len() {
                return;
            }
            while *matched > 0 && self.text[*matched] != byte {
                *matched = self.fallbacks[*matched - 1];
            }
            *matched += usize::from(self.text[*matched] == byte);
        }
    }
}

/// For each index of the needle, the length of its longest prefix that also ends there.
fn fallbacks(needle: &[u8]) -> Vec<usize> {
    let mut table = vec![0; needle.len()];
    let mut matched = 0;
    for index in 1..needle.len() {
        while matched > 0 && needle[matched] != needle[index] {
            matched = table[matched - 1];
        }
        matched += usize::from(needle[matched] == needle[index]);
        table[index] = matched;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        expect: (&[u16], BodyCheck),
        status: u16,
        pieces: &[&str],
        expected: Result<(), Failure>,
    ) {
        let matcher = AnswerMatcher::new(&Expect {
            status: expect.0.to_vec(),
            body: expect.1.clone(),
        });
        let mut body_match = BodyMatch::default();
        // Twice, to show that no state is left from the first answer.
        for _ in 0..2 {
            for piece in pieces {
                matcher.body(&mut body_match, piece.as_bytes());
            }
            let result = matcher.check(
                &mut body_match,
                Answer {
                    status,
                    keep_alive: true,
                },
            );
            assert_eq!(result, expected, "{expect:?} {status} {pieces:?}");
        }
    }

    #[test]
    fn status_is_any_2xx_or_one_of_the_list() {
        let any = || BodyCheck::Any;
        check((&[], any()), 200, &[], Ok(()));
        check((&[], any()), 299, &["x"], Ok(()));
        check((&[], any()), 300, &[], Err(Failure::Status(300)));
        check((&[], any()), 199, &[], Err(Failure::Status(199)));
        check((&[404, 999], any()), 404, &[], Ok(()));
        check((&[404, 999], any()), 999, &[], Ok(()));
        check((&[404, 999], any()), 200, &[], Err(Failure::Status(200)));
    }

    #[test]
    fn bodies_are_judged_across_pieces() {
        let equals = || BodyCheck::Equals(b"hello".to_vec());
        check((&[], equals()), 200, &["hello"], Ok(()));
        check((&[], equals()), 200, &["he", "", "llo"], Ok(()));
        for pieces in [&["hell"][..], &["hello", "!"], &["hellO"], &[], &["hello!"]] {
            check((&[], equals()), 200, pieces, Err(Failure::WrongBody));
        }
        check((&[], equals()), 500, &["hello"], Err(Failure::Status(500)));
        let contains = || BodyCheck::Contains(vec![b"aab".to_vec()]);
        check((&[], contains()), 200, &["xaab"], Ok(()));
        check((&[], contains()), 200, &["aa", "ab", "aaa"], Ok(()));
        check(
            (&[], contains()),
            200,
            &["aa", "xb"],
            Err(Failure::WrongBody),
        );
        check((&[], BodyCheck::Contains(Vec::new())), 200, &[], Ok(()));
        let empty = BodyCheck::Contains(vec![Vec::new()]);
        check((&[], empty), 200, &[], Ok(()));
        let texts = |count: usize| {
            let texts = (0..count).map(|number| format!("<{number}>").into_bytes());
            (&[][..], BodyCheck::Contains(texts.collect()))
        };
        check(texts(3), 200, &["<2>", " <", "0><1>"], Ok(()));
        check(texts(3), 200, &["<2>", " <", "0>"], Err(Failure::WrongBody));
        let most = ["<7><6><5>", "<4><3><2><1><0>"];
        check(texts(MAX_BODY_TEXTS), 200, &most, Ok(()));
        check(
            texts(MAX_BODY_TEXTS),
            200,
            &most[1..],
            Err(Failure::WrongBody),
        );
    }
}
