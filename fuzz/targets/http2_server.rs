//! A server's side of HTTP/2: whatever a client sends, however it is split, the server makes the same of it, and says little.
//!
//! The first two bytes decide the split and how requests are answered. What is written is a connection that has begun: the fuzzer need
//! not find the preface.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use waggle_wire::http2::{
    error::ErrorCode,
    frame::{HEAD_BYTES, Head, Kind, PAYLOAD_MIN_BYTES, PREFACE, put_settings},
    server::{Event, Limits, Server, Then},
};

const LIMITS: Limits = Limits {
    streams: 4,
    head_bytes: 512,
    fields: 8,
    stream_window: 65_535,
    connection_window: 65_535,
    resets: 8,
    idle_frames: 32,
};

/// What a connection came to.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: Vec<(u32, Vec<u8>, Vec<u8>)>,
    bodies: Vec<(u32, Vec<u8>)>,
    ends: Vec<u32>,
    resets: Vec<u32>,
    failed: Option<ErrorCode>,
}

impl Seen {
    /// How much came of a body before its stream was reset, or its connection ended, depends on the split.
    fn without_halves(mut self) -> Self {
        let ends = &self.ends;
        self.bodies.retain(|(stream, _)| ends.contains(stream));
        self
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let [split, answers, bytes @ ..] = bytes else {
        return Corpus::Reject;
    };
    // Answers change what is open, so that they come at fixed places: behind events, which do not depend on the split.
    let whole = serve(bytes, bytes.len().max(1), *answers);
    let parts = serve(bytes, usize::from(*split).max(1), *answers);
    let [whole, parts] = [whole, parts].map(Seen::without_halves);
    assert_eq!(whole, parts);
    Corpus::Keep
});

fn serve(bytes: &[u8], step: usize, answers: u8) -> Seen {
    let mut out = Vec::new();
    let mut server = Server::new(LIMITS, &mut out);
    let mut start = PREFACE.to_vec();
    put_settings(&mut start, &[]);
    assert_eq!(server.next(&mut &start[..], &mut out), Ok(None));
    let mut seen = Seen {
        requests: Vec::new(),
        bodies: Vec::new(),
        ends: Vec::new(),
        resets: Vec::new(),
        failed: None,
    };
    check_output(&out);
    out.clear();
    let mut consumed = 0;
    let mut said = 0;
    for mut input in bytes.chunks(step) {
        consumed += input.len();
        loop {
            let event = match server.next(&mut input, &mut out) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    server.fail(error, &mut out);
                    check_output(&out);
                    seen.failed = Some(error.code);
                    return seen;
                }
            };
            said += out.len();
            assert!(said <= 3 * consumed + 64, "{said} bytes after {consumed}");
            check_output(&out);
            out.clear();
            let is_end = note(&server, event, &mut seen);
            if let (Some(stream), true) = (is_end, answers & 1 != 0) {
                answer(&mut server, stream, answers, &mut out);
                check_output(&out);
                out.clear();
            }
        }
        said += out.len();
        check_output(&out);
        out.clear();
        assert!(server.open_streams() <= LIMITS.streams as usize);
        assert!(said <= 3 * consumed + 64, "{said} bytes after {consumed}");
    }
    seen
}

/// Notes an event; the stream if its request is complete.
fn note(server: &Server, event: Event<'_>, seen: &mut Seen) -> Option<u32> {
    match event {
        Event::Request { stream, is_end } => {
            let head = server.head();
            assert!(head.fields().len() <= LIMITS.fields);
            let texts = (stream, head.method().to_vec(), head.target().to_vec());
            seen.requests.push(texts);
            is_end.then_some(stream)
        }
        Event::TooLarge { stream } => {
            seen.resets.push(stream);
            None
        }
        Event::Body {
            stream,
            bytes,
            is_end,
        } => {
            match seen.bodies.iter_mut().find(|body| body.0 == stream) {
                Some(body) => body.1.extend_from_slice(bytes),
                None if bytes.is_empty() => {}
                None => seen.bodies.push((stream, bytes.to_vec())),
            }
            if is_end {
                seen.ends.push(stream);
            }
            is_end.then_some(stream)
        }
        Event::Reset { stream } => {
            seen.resets.push(stream);
            None
        }
    }
}

/// Answers in one of several ways.
fn answer(server: &mut Server, stream: u32, answers: u8, out: &mut Vec<u8>) {
    let body = [b'x'; 20_000];
    match answers >> 1 & 3 {
        0 => server.answer(stream, &[0x89], Then::End, out),
        1 => server.reset(stream, ErrorCode::CANCEL, out),
        2 => server.drain(out),
        _ => {
            server.answer_with(stream, Then::More, out, |_, block| block.push(0x88));
            let mut sent = 0;
            loop {
                let window = server.window(stream);
                let more = server.send_body(stream, &body[sent..], Then::End, out);
                assert!(more <= window && more <= PAYLOAD_MIN_BYTES);
                sent += more;
                if more == 0 || sent == body.len() {
                    break;
                }
            }
        }
    }
}

/// What is said consists of whole frames.
fn check_output(out: &[u8]) {
    let mut rest = out;
    while let Some(head) = Head::read(rest) {
        assert!(head.length <= PAYLOAD_MIN_BYTES && head.kind != Kind::PUSH_PROMISE);
        rest = &rest[HEAD_BYTES + head.length..];
    }
    assert!(rest.is_empty());
}
