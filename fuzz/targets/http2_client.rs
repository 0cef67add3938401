//! A client's side of HTTP/2: whatever a server sends, however its bytes are split, and whether whole answers are taken in one step, the
//! same becomes of the requests.
//!
//! The first byte decides which requests were HEAD, the next two the split.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use waggle_wire::http2::{
    client::{Client, Event, Options, Why},
    error::ErrorCode,
};

const STREAMS: usize = 8;
/// More than this is never due for an input of this length: each frame of the server is answered by few bytes.
const OUT_BYTES_PER_BYTE: usize = 8;

#[derive(Debug, Default, PartialEq)]
struct Seen {
    whole: Vec<(usize, u16)>,
    failed: Vec<(usize, Why)>,
    bodies: [Vec<u8>; STREAMS],
    error: Option<ErrorCode>,
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [heads, first, more, bytes @ ..] = bytes else {
        return Corpus::Reject;
    };
    let whole = read(*heads, Steps::Events, std::iter::once(bytes));
    let at_once = read(*heads, Steps::Answers, std::iter::once(bytes));
    assert_same(&whole, &at_once);
    let split = usize::from(*first) % (bytes.len() + 1);
    let (before, after) = bytes.split_at(split);
    let every = usize::from(*more).max(1);
    for steps in [Steps::Events, Steps::Answers] {
        let pieces = [before].into_iter().chain(after.chunks(every));
        let seen = read(*heads, steps, pieces);
        if !whole.has_window_overflow() && !seen.has_window_overflow() {
            assert_same(&whole, &seen);
        }
    }
    Corpus::Keep
});

impl Seen {
    /// Whether a window became too large. It does not if a part of a body was sent before, which is when the input is used up: that
    /// depends on the split.
    fn has_window_overflow(&self) -> bool {
        let is_of_window =
            |why: &Why| matches!(why, Why::Malformed(why) if why.contains("WINDOW_UPDATE"));
        self.error == Some(ErrorCode::FLOW_CONTROL_ERROR)
            || self.failed.iter().any(|(_, why)| is_of_window(why))
    }
}

/// How answers are taken.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    /// Event by event.
    Events,
    /// In one step where that is possible, as the load engine does.
    Answers,
}

fn assert_same(left: &Seen, right: &Seen) {
    assert_eq!(left.whole, right.whole);
    assert_eq!(left.failed, right.failed);
    assert_eq!(left.error, right.error);
    if left.error.is_none() {
        assert_eq!(left.bodies, right.bodies);
    }
}

fn read<'a>(heads: u8, steps: Steps, pieces: impl Iterator<Item = &'a [u8]>) -> Seen {
    let options = Options {
        streams_max: STREAMS,
        list_max_bytes: 1_000,
        fields_max: 20,
        stream_window: 70_000,
        connection_window: 100_000,
        keeps_fields: true,
    };
    let mut out = Vec::new();
    let mut client = Client::new(options, &mut out);
    let mut seen = Seen::default();
    let mut received = 0;
    out.clear();
    for mut piece in pieces {
        received += piece.len();
        loop {
            if steps == Steps::Answers
                && let Some(answer) = client.next_answer(&mut piece)
            {
                seen.bodies[answer.slot].extend_from_slice(answer.bytes);
                seen.whole.push((answer.slot, answer.status));
                continue;
            }
            let event = match client.next(&mut piece, &mut out) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    seen.error = Some(error.code);
                    return seen;
                }
            };
            match event {
                // All requests are there before the first answer can be.
                Event::Ready => begin_all(&mut client, heads, &mut out),
                Event::Head { slot, .. } => assert!(slot < STREAMS),
                Event::Body {
                    slot,
                    bytes,
                    status,
                    is_whole,
                } => {
                    seen.bodies[slot].extend_from_slice(bytes);
                    if is_whole {
                        seen.whole.push((slot, status));
                    }
                }
                Event::Whole { slot, status } => seen.whole.push((slot, status)),
                Event::Failed { slot, why } => seen.failed.push((slot, why)),
            }
        }
        assert!(
            piece.is_empty(),
            "it wants more before it took what there is"
        );
        assert!(out.len() <= 10_000 + received * OUT_BYTES_PER_BYTE);
        assert!(client.in_flight() <= STREAMS);
    }
    seen
}

fn begin_all(client: &mut Client, heads: u8, out: &mut Vec<u8>) {
    for number in 0..client.room() {
        let begun = client.begin(heads >> number & 1 == 1, 100);
        if !begun.takes_body {
            client.send_body(begun.slot, &[b'x'; 100], out);
        }
    }
}
