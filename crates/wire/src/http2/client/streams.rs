//! The requests of a connection that have not ended, in slots, and their windows and unsent bodies.

use std::ops::{Index, IndexMut};

use super::stream_numbers::StreamNumbers;
use crate::http2::{
    error::{ConnectionError, ErrorCode, broken},
    frame::{self, END_STREAM, Kind, PAYLOAD_MIN_BYTES, WINDOW_MAX},
};

/// A buffer of an unsent body that a slot keeps; a larger one is freed.
const KEPT_BODY_BYTES: usize = 64 * 1024;

/// How far the answer to a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The slot is free.
    Free,
    Head,
    Body,
}

/// A request in its slot: one line of the CPU's cache.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Request {
    stream: u32,
    pub(super) phase: Phase,
    pub(super) is_head: bool,
    pub(super) status: u16,
    /// Bytes of the answer's body that are missing; `None`: it is not known.
    pub(super) body_left: Option<u64>,
    pub(super) send_window: i64,
    pub(super) receive_window: i64,
    /// Whether a part of its body was not sent, for lack of a window.
    is_sending: bool,
    unsent: Box<UnsentBody>,
}

/// A body of which the bytes from `sent` on were not sent.
#[derive(Debug, Default)]
struct UnsentBody {
    bytes: Vec<u8>,
    sent: usize,
}

impl Request {
    #[inline]
    pub(super) fn is_sending(&self) -> bool {
        self.is_sending
    }
}

#[derive(Debug)]
pub(super) struct Streams {
    slots: Vec<Request>,
    free: Vec<usize>,
    numbers: StreamNumbers,
    /// Requests with an unsent body.
    sending: usize,
    /// The slot of which a frame of a body was sent last.
    turn: usize,
}

impl Index<usize> for Streams {
    type Output = Request;

    #[inline]
    fn index(&self, slot: usize) -> &Request {
        &self.slots[slot]
    }
}

impl IndexMut<usize> for Streams {
    #[inline]
    fn index_mut(&mut self, slot: usize) -> &mut Request {
        &mut self.slots[slot]
    }
}

impl Streams {
    pub(super) fn new(most: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            numbers: StreamNumbers::new(most),
            sending: 0,
            turn: 0,
        }
    }

    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn slot_of(&self, stream: u32) -> Option<usize> {
        self.numbers.slot_of(stream)
    }

    /// A slot for a new request.
    #[inline]
    pub(super) fn open(
        &mut self,
        stream: u32,
        is_head: bool,
        send_window: i64,
        receive_window: i64,
    ) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| self.add_slot());
        let request = &mut self.slots[slot];
        request.stream = stream;
        request.phase = Phase::Head;
        request.is_head = is_head;
        request.send_window = send_window;
        request.receive_window = receive_window;
        self.numbers.insert(stream, slot);
        slot
    }

    #[cold]
    fn add_slot(&mut self) -> usize {
        self.slots.push(Request {
            stream: 0,
            phase: Phase::Free,
            is_head: false,
            status: 0,
            body_left: None,
            send_window: 0,
            receive_window: 0,
            is_sending: false,
            unsent: Box::default(),
        });
        self.slots.len() - 1
    }

    /// Frees a slot; returns the number of its stream.
    #[inline(always)]
    pub(super) fn close(&mut self, slot: usize) -> u32 {
        let request = &mut self.slots[slot];
        request.phase = Phase::Free;
        let stream = request.stream;
        if request.is_sending {
            self.forget_body(slot);
        }
        self.numbers.remove(stream);
        self.free.push(slot);
        stream
    }

    /// The first slot from `from` on whose stream is above `last`.
    pub(super) fn next_above(&self, last: u32, from: usize) -> Option<usize> {
        let mut slots = self.slots.iter().enumerate().skip(from);
        let is_above = |(_, request): &(usize, &Request)| {
            request.phase != Phase::Free && request.stream > last
        };
        slots.find(is_above).map(|(slot, _)| slot)
    }

    /// The settings have changed the window of all streams.
    pub(super) fn widen_windows(&mut self, more: i64) -> Result<(), ConnectionError> {
        for request in &mut self.slots {
            request.send_window += more;
            if request.phase != Phase::Free && request.send_window > WINDOW_MAX {
                return Err(broken(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "the settings let a window exceed 2^31-1",
                ));
            }
        }
        Ok(())
    }

    /// Keeps the body of a request.
    pub(super) fn keep_body(&mut self, slot: usize, body: &[u8]) {
        let request = &mut self.slots[slot];
        request.unsent.bytes.clear();
        request.unsent.bytes.extend_from_slice(body);
        request.unsent.sent = 0;
        request.is_sending = true;
        self.sending += 1;
    }

    /// Whether the windows let something of a kept body go.
    pub(super) fn let_go(&self, window: i64) -> bool {
        let lets_go = |request: &Request| request.is_sending && request.send_window > 0;
        self.sending > 0 && window > 0 && self.slots.iter().any(lets_go)
    }

    /// Sends what the windows allow of all kept bodies, a frame of each in turn: a body that had all of the window of the connection would
    /// have to wait for its own, and the next one for what is left of the other.
    pub(super) fn send_all(&mut self, window: &mut i64, out: &mut Vec<u8>) {
        let mut idle = 0;
        while self.sending > 0 && idle < self.slots.len() {
            self.turn = (self.turn + 1) % self.slots.len();
            match self.send_frame(self.turn, window, out) {
                true => idle = 0,
                false => idle += 1,
            }
        }
    }

    /// Sends what the windows allow of a kept body.
    pub(super) fn send(&mut self, slot: usize, window: &mut i64, out: &mut Vec<u8>) {
        while self.send_frame(slot, window, out) {}
    }

    /// Sends the next frame of a kept body; false if there is none, or the windows allow nothing.
    fn send_frame(&mut self, slot: usize, window: &mut i64, out: &mut Vec<u8>) -> bool {
        let request = &mut self.slots[slot];
        if !request.is_sending {
            return false;
        }
        let UnsentBody { bytes, sent } = &mut *request.unsent;
        let left = bytes.len() - *sent;
        let room = (*window).min(request.send_window).max(0) as usize;
        let length = left.min(room).min(PAYLOAD_MIN_BYTES);
        if length == 0 && left > 0 {
            return false;
        }
        let is_last = length == left;
        let flags = if is_last { END_STREAM } else { 0 };
        frame::put_head(out, Kind::DATA, flags, request.stream, length);
        out.extend_from_slice(&bytes[*sent..*sent + length]);
        *sent += length;
        request.send_window -= length as i64;
        *window -= length as i64;
        if is_last {
            self.forget_body(slot);
        }
        true
    }

    #[cold]
    fn forget_body(&mut self, slot: usize) {
        let request = &mut self.slots[slot];
        request.is_sending = false;
        request.unsent.bytes.clear();
        request.unsent.bytes.shrink_to(KEPT_BODY_BYTES);
        self.sending -= 1;
    }
}
