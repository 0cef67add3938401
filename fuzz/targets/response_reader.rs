//! The engine's reader of answers: for every split of the bytes it reads the same answers.
//!
//! The first byte decides which requests were HEAD, the next two the split.
#![no_main]

use std::mem::{Discriminant, discriminant};

use libfuzzer_sys::{Corpus, fuzz_target};
use waggle_wire::http1::answer::{Answer, AtClose, Event, Heads, ReadError, ReadLimits, Reader};

const LIMITS: ReadLimits = ReadLimits {
    head_max_bytes: 512,
    head_max_fields: 32,
    body_max_bytes: 2048,
};

#[derive(Debug, Default, PartialEq)]
struct Seen {
    answers: Vec<Answer>,
    body: Vec<u8>,
    end: Option<End>,
}

#[derive(Debug, PartialEq)]
enum End {
    Closed(AtClose),
    Failed(Discriminant<ReadError>),
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [heads, first, more, bytes @ ..] = bytes else {
        return Corpus::Reject;
    };
    let whole = read(*heads, std::iter::once(bytes));
    let at = usize::from(*first) % (bytes.len() + 1);
    let (before, after) = bytes.split_at(at);
    let every = usize::from(*more).max(1);
    let cut = read(*heads, [before].into_iter().chain(after.chunks(every)));
    assert_eq!(whole.answers, cut.answers);
    assert_eq!(whole.end, cut.end);
    // Of a body above its limit, more or less may have been passed on before the error.
    if !matches!(whole.end, Some(End::Failed(_))) {
        assert_eq!(whole.body, cut.body);
    }
    Corpus::Keep
});

fn read<'a>(heads_bits: u8, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let mut heads = Heads::new(LIMITS);
    let mut reader = Reader::default();
    let mut seen = Seen::default();
    for mut piece in pieces {
        loop {
            let is_head = heads_bits >> (seen.answers.len() % 8) & 1 == 1;
            match reader.next(&mut heads, &mut piece, is_head) {
                Ok(Some(Event::Body(body))) => {
                    assert!(!body.is_empty());
                    seen.body.extend_from_slice(body);
                }
                Ok(Some(Event::Whole(answer))) => seen.answers.push(answer),
                Ok(None) => {
                    assert!(
                        piece.is_empty(),
                        "it wants more before it took what there is"
                    );
                    break;
                }
                Err(error) => {
                    seen.end = Some(End::Failed(discriminant(&error)));
                    return seen;
                }
            }
        }
    }
    seen.end = Some(End::Closed(reader.close()));
    seen
}
