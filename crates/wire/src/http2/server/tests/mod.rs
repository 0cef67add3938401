//! Connections as scripts: what a client sends, and what the server makes of it.

mod limits;
mod requests;
mod states;

use super::{Event, Limits, Server, Then};
use crate::http2::{
    error::ErrorCode,
    frame::{self, END_HEADERS, END_STREAM, Head, Kind, PREFACE, put_head},
    hpack::put_static,
};

const LIMITS: Limits = Limits {
    streams: 4,
    head_bytes: 600,
    fields: 8,
    stream_window: 65_535,
    connection_window: 65_535,
    resets: 3,
    idle_frames: 10,
};

/// A client that speaks to a server.
struct Script {
    server: Server,
    out: Vec<u8>,
}

/// What came of some bytes: events as text, or the code that ended the connection.
type Outcome = Result<String, ErrorCode>;

impl Script {
    /// A connection that has begun; what the server says at its start is dropped.
    fn new() -> Self {
        let mut out = Vec::new();
        let server = Server::new(LIMITS, &mut out);
        let mut script = Self { server, out };
        let start = [&PREFACE[..], &frame(Kind::SETTINGS, 0, 0, b"")].concat();
        assert_eq!(script.send(&start), Ok(String::new()));
        script.out.clear();
        script
    }

    fn send(&mut self, bytes: &[u8]) -> Outcome {
        let mut text = Vec::new();
        let mut input = bytes;
        loop {
            let event = self.server.next(&mut input, &mut self.out);
            match event.map_err(|error| error.code)? {
                None => return Ok(text.join(" ")),
                Some(event) => text.push(self.describe(event)),
            }
        }
    }

    fn describe(&self, event: Event<'_>) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let end = |is_end: bool| if is_end { "." } else { "" };
        match event {
            Event::Request { stream, is_end } => {
                let head = self.server.head();
                let (method, target) = (text(head.method()), text(head.target()));
                format!("{stream}:{method} {target}{}", end(is_end))
            }
            Event::TooLarge { stream } => format!("{stream}:too-large"),
            Event::Body {
                stream,
                bytes,
                is_end,
            } => format!("{stream}:[{}]{}", text(bytes), end(is_end)),
            Event::Reset { stream } => format!("{stream}:reset"),
        }
    }

    /// The frames of the output, each as its kind, stream and what matters of its payload; empties it.
    fn read_output(&mut self) -> String {
        let mut text = Vec::new();
        let mut rest = &self.out[..];
        while let Some(head) = Head::read(rest) {
            let payload = &rest[9..9 + head.length];
            rest = &rest[9 + head.length..];
            let code = || ErrorCode(u32::from_be_bytes(payload[..4].try_into().unwrap()));
            let end =
                if matches!(head.kind, Kind::DATA | Kind::HEADERS) && head.has_flag(END_STREAM) {
                    "."
                } else {
                    ""
                };
            let stream = head.stream;
            text.push(match head.kind {
                Kind::DATA => format!("{stream}:DATA {}{end}", payload.len()),
                Kind::HEADERS => format!("{stream}:HEADERS{end}"),
                Kind::RST_STREAM => format!("{stream}:RST {}", code()),
                Kind::GOAWAY => {
                    let away = frame::go_away(head, payload).unwrap();
                    format!("GOAWAY {} {}", away.last_stream, away.code)
                }
                Kind::WINDOW_UPDATE => format!("{stream}:+{}", code().0),
                Kind::SETTINGS => "SETTINGS".to_owned(),
                Kind::PING => "PING".to_owned(),
                kind => format!("{stream}:{}", kind.0),
            });
        }
        assert_eq!(rest, b"");
        self.out.clear();
        text.join(" ")
    }

    fn answer(&mut self, stream: u32, then: Then) {
        self.server.answer(stream, &[0x89], then, &mut self.out);
    }
}

fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, kind, flags, stream, payload.len());
    out.extend_from_slice(payload);
    out
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        put_static(&mut block, name.as_bytes(), value.as_bytes());
    }
    block
}

fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(Kind::HEADERS, flags | END_HEADERS, stream, &block(fields))
}

const GET: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":authority", "a"),
    (":path", "/x"),
];

fn get(stream: u32) -> Vec<u8> {
    headers(stream, END_STREAM, GET)
}

fn reset(stream: u32) -> Vec<u8> {
    frame(Kind::RST_STREAM, 0, stream, &[0, 0, 0, 8])
}

fn put(stream: u32) -> Vec<u8> {
    headers(stream, 0, GET)
}

fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(Kind::DATA, flags, stream, bytes)
}
