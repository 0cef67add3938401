//! One connection of a client, frame by frame.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    frame::{
        self, ACK, DATA, Frame, GOAWAY, HEADER_TABLE_SIZE, HEADERS, PING, RST_STREAM, SETTINGS,
    },
    limits::ClientLimits,
    server::Log,
};
use crate::Socket;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Until the client says otherwise (RFC 9113, section 6.5.2).
const TABLE_BYTES: u32 = 4_096;

/// How windows are refilled while bodies arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    /// As many bytes as arrived.
    Whole,
    /// One byte whenever the window of a stream is empty.
    OneByte,
    /// By the test, with [`FrameSocket::grant`].
    Nothing,
}

/// A complete request. Its head is not decoded: tests tell requests apart by their bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Counted from 0 over all connections.
    pub number: u64,
    pub connection: u64,
    pub stream: u32,
    pub body: Vec<u8>,
}

/// Reads the client's frames, acknowledges its SETTINGS, answers its PINGs and panics if it breaks a limit.
#[derive(Debug)]
pub struct FrameSocket {
    socket: Socket,
    /// Counted from 0.
    pub connection: u64,
    pub refill: Refill,
    /// Largest dynamic table that the client allows.
    pub table_max_bytes: u32,
    input: Vec<u8>,
    /// Whether its own SETTINGS were sent, which are its first frame (RFC 9113, section 3.4).
    has_begun: bool,
    owed_acks: usize,
    limits: ClientLimits,
    bodies: BTreeMap<u32, Vec<u8>>,
    log: Arc<Mutex<Log>>,
}

impl FrameSocket {
    /// Reads the preface; `None` if the client closed the connection before.
    pub(super) fn accept(
        mut socket: Socket,
        connection: u64,
        log: Arc<Mutex<Log>>,
    ) -> Option<Self> {
        let mut preface = [0; PREFACE.len()];
        socket.read_exact(&mut preface).ok()?;
        assert_eq!(preface, PREFACE, "the client's preface");
        Some(Self {
            socket,
            connection,
            refill: Refill::Whole,
            table_max_bytes: TABLE_BYTES,
            input: Vec::new(),
            has_begun: false,
            owed_acks: 0,
            limits: ClientLimits::default(),
            bodies: BTreeMap::new(),
            log,
        })
    }

    /// Sends any bytes; whether the client accepted them.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// Sends one byte at a time, each in a segment of its own.
    pub fn send_bytewise(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.send(&[*byte]))
    }

    /// Sends SETTINGS, which limit the client once it has acknowledged them.
    pub fn send_settings(&mut self, values: &[(u16, u32)]) -> bool {
        self.limits.announce(values);
        let mut bytes = frame::settings(values);
        self.has_begun = true;
        for _ in 0..std::mem::take(&mut self.owed_acks) {
            bytes.extend(frame::frame(SETTINGS, ACK, 0, &[]));
        }
        self.send(&bytes)
    }

    /// Sends the end of an answer: its stream no longer counts as open.
    pub fn finish_stream(&mut self, stream: u32, bytes: &[u8]) -> bool {
        self.limits.close(stream);
        self.send(bytes)
    }

    /// Sends a WINDOW_UPDATE.
    pub fn grant(&mut self, stream: u32, bytes: u32) -> bool {
        self.limits.grant(stream, bytes);
        self.send(&frame::window_update(stream, bytes))
    }

    /// Streams that were opened and not ended by [`Self::finish_stream`] or by the client's reset.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.limits.open_streams()
    }

    /// The client's next frame; `None` at the end of the connection.
    pub fn next_frame(&mut self) -> Option<Frame> {
        let frame = self.read_frame()?;
        self.limits.check(&frame);
        match frame.kind {
            SETTINGS if frame.has_flag(ACK) => self.note_ack(),
            SETTINGS => self.accept_settings(&frame),
            PING if frame.has_flag(ACK) => self.note(|log| log.pongs.push(frame.payload.clone())),
            PING => self.answer_ping(&frame),
            RST_STREAM => self.note_reset(&frame),
            GOAWAY => self.note(|log| log.go_aways.push(frame.number(4))),
            HEADERS => self.begin_request(&frame),
            DATA => self.take_body(&frame),
            _ => {}
        }
        Some(frame)
    }

    /// The frames up to the one that fulfils `is_last`, or to the end of the connection.
    pub fn frames_until(&mut self, mut is_last: impl FnMut(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next_frame() {
            let is_enough = is_last(&frame);
            frames.push(frame);
            if is_enough {
                break;
            }
        }
        frames
    }

    /// The next request that is complete; `None` at the end of the connection.
    pub fn next_request(&mut self) -> Option<Request> {
        loop {
            let frame = self.next_frame()?;
            if frame.ends_stream() {
                return Some(self.log_request(frame.stream));
            }
        }
    }

    /// The next requests; fewer at the end of the connection.
    pub fn next_requests(&mut self, count: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        while requests.len() < count
            && let Some(request) = self.next_request()
        {
            requests.push(request);
        }
        requests
    }

    /// Sends a PING and reads until its ACK: everything sent before has been processed. Returns the frames read.
    pub fn synchronize(&mut self, number: u64) -> Vec<Frame> {
        self.send(&frame::ping(number));
        let expected = number.to_be_bytes();
        self.frames_until(|frame| {
            frame.kind == PING && frame.has_flag(ACK) && frame.payload == expected
        })
    }

    /// A second handle of the socket, so that another thread can read or write.
    #[must_use]
    pub fn raw(&self) -> TcpStream {
        self.socket.try_clone().expect("an open socket")
    }

    /// Ends the sending side, and reads until the client has closed.
    pub(super) fn close(&mut self) {
        // The client may have closed it.
        let _ = self.socket.shutdown(Shutdown::Write);
        while self.next_frame().is_some() {}
    }

    fn read_frame(&mut self) -> Option<Frame> {
        let mut piece = [0; 16 * 1024];
        loop {
            if let Some((frame, length)) = Frame::parse(&self.input) {
                self.input.drain(..length);
                return Some(frame);
            }
            match self.socket.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.input.extend_from_slice(&piece[..length]),
            }
        }
    }

    fn accept_settings(&mut self, frame: &Frame) {
        for value in frame.payload.as_chunks::<6>().0 {
            if u16::from_be_bytes([value[0], value[1]]) == HEADER_TABLE_SIZE {
                self.table_max_bytes = u32::from_be_bytes([value[2], value[3], value[4], value[5]]);
            }
        }
        if self.has_begun {
            self.send(&frame::frame(SETTINGS, ACK, 0, &[]));
        } else {
            self.owed_acks += 1;
        }
    }

    fn note_ack(&mut self) {
        self.limits.acknowledge();
        self.note(|log| log.settings_acks += 1);
    }

    fn answer_ping(&mut self, frame: &Frame) {
        self.send(&frame::frame(PING, ACK, 0, &frame.payload));
    }

    fn note_reset(&mut self, frame: &Frame) {
        self.limits.close(frame.stream);
        self.bodies.remove(&frame.stream);
        let reset = (frame.stream, frame.number(0));
        self.note(|log| log.resets.push(reset));
    }

    fn begin_request(&mut self, frame: &Frame) {
        self.bodies.insert(frame.stream, Vec::new());
        if !frame.ends_stream() {
            self.refill_stream(frame.stream);
        }
    }

    fn take_body(&mut self, frame: &Frame) {
        let length = u32::try_from(frame.payload.len()).expect("a length of 24 bits");
        if let Some(body) = self.bodies.get_mut(&frame.stream) {
            body.extend_from_slice(&frame.payload);
        }
        if self.refill == Refill::Nothing || length == 0 {
            return;
        }
        self.grant(0, length);
        if frame.ends_stream() {
            return;
        }
        match self.refill {
            Refill::Whole => {
                self.grant(frame.stream, length);
            }
            _ => self.refill_stream(frame.stream),
        }
    }

    fn refill_stream(&mut self, stream: u32) {
        if self.refill == Refill::OneByte && self.limits.window(stream) <= 0 {
            self.grant(stream, 1);
        }
    }

    fn log_request(&mut self, stream: u32) -> Request {
        let body = self.bodies.remove(&stream).unwrap_or_default();
        let connection = self.connection;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let request = Request {
            number: u64::try_from(log.requests.len()).expect("a count"),
            connection,
            stream,
            body,
        };
        log.requests.push(request.clone());
        request
    }

    fn note(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
