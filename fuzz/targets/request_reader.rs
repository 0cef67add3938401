//! The reader of requests that the gateway has: for every split of the bytes it reads the same requests, or refuses the same.
//!
//! The first two bytes decide the split. A difference would allow request smuggling.
#![no_main]

use std::mem::MaybeUninit;

use libfuzzer_sys::{Corpus, fuzz_target};
use waggle_wire::http1::request::{Limits, Persistence, Reader, Refusal, Request, SLOTS, Step};

const LIMITS: Limits = Limits {
    head_max_bytes: 512,
    body_max_bytes: 2048,
};

/// An owned copy of a request.
#[derive(Debug, PartialEq)]
struct Seen {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    persistence: Persistence,
    body: Vec<u8>,
    length: usize,
}

#[derive(Debug, PartialEq)]
enum End {
    Between,
    InHead,
    InBody,
    Http2,
    Refused(Refusal),
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [first, more, bytes @ ..] = bytes else {
        return Corpus::Reject;
    };
    let whole = read(bytes, [bytes.len()].into_iter());
    let at = usize::from(*first) % (bytes.len() + 1);
    let ends = (at..bytes.len()).step_by(usize::from(*more).max(1));
    let cut = read(bytes, ends.chain([bytes.len()]));
    assert_eq!(whole, cut);
    Corpus::Keep
});

/// Reads with the bytes up to each of `ends` available.
fn read(bytes: &[u8], ends: impl Iterator<Item = usize>) -> (Vec<Seen>, End) {
    let mut reader = Reader::new(LIMITS);
    let mut requests = Vec::new();
    let mut start = 0;
    let mut last = End::Between;
    for end in ends {
        loop {
            let input = &bytes[start..end];
            let mut slots = [const { MaybeUninit::uninit() }; SLOTS];
            last = match reader.next(input, &mut slots) {
                Ok(Step::Whole { request, length }) => {
                    assert!(length > 0 && length <= input.len());
                    assert!(request.body.len() <= LIMITS.body_max_bytes);
                    requests.push(to_seen(&request, length));
                    start += length;
                    continue;
                }
                Ok(Step::Http2) => return (requests, End::Http2),
                Ok(Step::Idle) => End::Between,
                Ok(Step::Head) => End::InHead,
                Ok(Step::Body { .. }) => End::InBody,
                Err(refusal) => return (requests, End::Refused(refusal)),
            };
            break;
        }
    }
    (requests, last)
}

fn to_seen(request: &Request<'_, '_>, length: usize) -> Seen {
    let header = |header: &httparse::Header<'_>| (header.name.to_owned(), header.value.to_owned());
    Seen {
        method: request.head.method.to_owned(),
        target: request.head.target.to_owned(),
        headers: request.head.headers.iter().map(header).collect(),
        persistence: request.head.persistence,
        body: request.body.to_owned(),
        length,
    }
}
