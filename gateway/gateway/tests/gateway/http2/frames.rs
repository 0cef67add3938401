//! A client that sends exactly the given frames.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpStream},
    time::Duration,
};

use waggle_wire::http2::{
    error::ErrorCode,
    frame::{self, ACK, END_HEADERS, END_STREAM, Head, Kind, PREFACE, put_head},
    hpack::{Decoder, put_static},
};

use crate::support::{Client, Gateway};

/// A connection that has begun.
pub(super) struct Raw(TcpStream);

/// A frame of the gateway.
pub(super) type Frame = (Head, Vec<u8>);

impl Raw {
    pub(super) fn connect(gateway: &Gateway) -> Self {
        Self::connect_with(gateway, &[])
    }

    /// One on which nothing is sent.
    pub(super) fn open(gateway: &Gateway) -> Self {
        Self::from_socket(TcpStream::connect(gateway.address).unwrap())
    }

    /// With the payload of its settings.
    pub(super) fn connect_with(gateway: &Gateway, settings: &[u8]) -> Self {
        Self::open(gateway).begin(settings)
    }

    /// From another address of this host, such as 127.0.0.2.
    pub(super) fn connect_from(local: Ipv4Addr, gateway: &Gateway) -> Self {
        let mut client = Client::connect_from(local, gateway.address);
        Self::from_socket(client.socket().try_clone().unwrap()).begin(&[])
    }

    fn from_socket(socket: TcpStream) -> Self {
        let within = Some(Duration::from_secs(60));
        socket.set_read_timeout(within).unwrap();
        Self(socket)
    }

    /// Sends settings, and acknowledges those of the gateway.
    fn begin(mut self, settings: &[u8]) -> Self {
        self.send(PREFACE);
        self.send(&frame(Kind::SETTINGS, 0, 0, settings));
        self.send(&frame(Kind::SETTINGS, ACK, 0, b""));
        self
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The same, if the gateway has not closed the connection.
    pub(super) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    pub(super) fn end(&mut self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }

    /// The next frame; `None` at the end of the connection.
    pub(super) fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let head = Head::read(&head).unwrap();
        let mut payload = vec![0; head.length];
        self.0.read_exact(&mut payload).ok()?;
        Some((head, payload))
    }

    pub(super) fn read_to_end(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.read()).collect()
    }

    /// Reads up to the end of the connection; the code of its GOAWAY.
    pub(super) fn read_code(&mut self) -> Option<ErrorCode> {
        let frames = self.read_to_end();
        let away = frames.iter().rfind(|(head, _)| head.kind == Kind::GOAWAY);
        away.map(|(head, payload)| frame::go_away(*head, payload).unwrap().code)
    }
}

pub(super) fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, kind, flags, stream, payload.len());
    out.extend_from_slice(payload);
    out
}

pub(super) fn headers(stream: u32, flags: u8, method: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", method),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", path),
    ] {
        put_static(&mut block, name.as_bytes(), value.as_bytes());
    }
    frame(Kind::HEADERS, flags | END_HEADERS, stream, &block)
}

pub(super) fn get(stream: u32, path: &str) -> Vec<u8> {
    headers(stream, END_STREAM, "GET", path)
}

pub(super) fn reset(stream: u32) -> Vec<u8> {
    frame(Kind::RST_STREAM, 0, stream, &[0, 0, 0, 8])
}

/// Streams and statuses of all answers of a connection, by stream.
pub(super) fn statuses(frames: &[Frame]) -> Vec<(u32, u16)> {
    let mut decoder = Decoder::new(4096);
    let mut statuses = Vec::new();
    for (head, payload) in frames {
        if head.kind != Kind::HEADERS {
            continue;
        }
        let take = |name: &[u8], value: &[u8]| {
            if name == b":status" {
                let status = std::str::from_utf8(value).unwrap().parse().unwrap();
                statuses.push((head.stream, status));
            }
        };
        decoder.decode(payload, take).unwrap();
    }
    statuses.sort_unstable();
    statuses
}
