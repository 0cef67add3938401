//! Whether an answer is what the job expects. Bodies are judged as they pass by and never kept.

use crate::{BodyCheck, Expect, Failure, reader::Answer};

/// The expectations of a job, made ready for use.
#[derive(Debug)]
pub(crate) struct Judge {
    /// Expected status codes, a bit each.
    status: [u64; 16],
    body: BodyRule,
}

#[derive(Debug)]
enum BodyRule {
    Any,
    Equals(Vec<u8>),
    /// With the failure table of Knuth, Morris and Pratt, because a match may lie across two pieces.
    Contains(Vec<u8>, Vec<usize>),
}

/// How far the body of the answer being read agrees.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Agreement {
    /// Bytes in a row that agree.
    matched: usize,
    differs: bool,
}

impl Judge {
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
            BodyCheck::Contains(bytes) if bytes.is_empty() => BodyRule::Any,
            BodyCheck::Contains(bytes) => BodyRule::Contains(bytes.clone(), fallbacks(bytes)),
        };
        Self { status, body }
    }

    /// Takes the next piece of a body.
    #[inline]
    pub(crate) fn body(&self, agreement: &mut Agreement, piece: &[u8]) {
        match &self.body {
            BodyRule::Any => {}
            BodyRule::Equals(expected) => {
                agreement.differs |= !expected[agreement.matched..].starts_with(piece);
                agreement.matched = (agreement.matched + piece.len()).min(expected.len());
            }
            BodyRule::Contains(needle, fallbacks) => {
                for &byte in piece {
                    if agreement.matched == needle.len() {
                        return;
                    }
                    while agreement.matched > 0 && needle[agreement.matched] != byte {
                        agreement.matched = fallbacks[agreement.matched - 1];
                    }
                    agreement.matched += usize::from(needle[agreement.matched] == byte);
                }
            }
        }
    }

    /// Judges a whole answer and forgets the agreement of its body. The status goes first.
    #[inline]
    pub(crate) fn judge(&self, agreement: &mut Agreement, answer: Answer) -> Result<(), Failure> {
        let agreement = std::mem::take(agreement);
        let word = self
            .status
            .get(usize::from(answer.status / 64))
            .copied()
            .unwrap_or(0);
        if word >> (answer.status % 64) & 1 == 0 {
            return Err(Failure::Status(answer.status));
        }
        let agrees = match &self.body {
            BodyRule::Any => true,
            BodyRule::Equals(expected) => !agreement.differs && agreement.matched == expected.len(),
            BodyRule::Contains(needle, _) => agreement.matched == needle.len(),
        };
        if agrees {
            Ok(())
        } else {
            Err(Failure::WrongBody)
        }
    }
}

/// For each place in the needle, how long the needle's longest beginning is that also ends there.
fn fallbacks(needle: &[u8]) -> Vec<usize> {
    let mut table = vec![0; needle.len()];
    let mut matched = 0;
    for place in 1..needle.len() {
        while matched > 0 && needle[matched] != needle[place] {
            matched = table[matched - 1];
        }
        matched += usize::from(needle[matched] == needle[place]);
        table[place] = matched;
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
        let judge = Judge::new(&Expect {
            status: expect.0.to_vec(),
            body: expect.1.clone(),
        });
        let mut agreement = Agreement::default();
        // Twice, so that what one answer leaves behind would show in the next.
        for _ in 0..2 {
            for piece in pieces {
                judge.body(&mut agreement, piece.as_bytes());
            }
            let found = judge.judge(
                &mut agreement,
                Answer {
                    status,
                    keep_alive: true,
                },
            );
            assert_eq!(found, expected, "{expect:?} {status} {pieces:?}");
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
        let contains = || BodyCheck::Contains(b"aab".to_vec());
        check((&[], contains()), 200, &["xaab"], Ok(()));
        check((&[], contains()), 200, &["aa", "ab", "aaa"], Ok(()));
        check(
            (&[], contains()),
            200,
            &["aa", "xb"],
            Err(Failure::WrongBody),
        );
        check((&[], BodyCheck::Contains(Vec::new())), 200, &[], Ok(()));
    }
}
