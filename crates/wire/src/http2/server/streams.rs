//! The streams of a connection and their states (RFC 9113, section 5.1).

use super::super::{
    dropped_streams::DroppedStreams,
    error::{ConnectionError, ErrorCode, broken},
    frame::WINDOW_MAX,
};

/// A stream that the client opened and that is not answered completely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) number: u32,
    /// What may be sent.
    pub(super) send_window: i64,
    /// What the client may still send.
    pub(super) receive_window: i64,
    /// Bytes that are missing of a body whose length is known.
    pub(super) missing: Option<u64>,
    /// The request is complete.
    pub(super) is_complete: bool,
}

/// The state of a stream that is not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// The client has never opened it, and can.
    Idle,
    /// The client has never opened it, and cannot: it has opened a later one, or the number is even.
    Skipped,
    /// It was reset or answered here before its request was complete: the client may not know yet.
    Dropped,
    /// Both sides know that it is over.
    Closed,
}

/// The streams, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Streams {
    open: Vec<Stream>,
    /// The highest number that the client has used.
    last: u32,
    /// Numbers that the client left out last: above the first and below the second.
    skipped: (u32, u32),
    dropped: DroppedStreams,
}

impl Streams {
    pub(super) fn new(most: u32) -> Self {
        Self {
            open: Vec::new(),
            last: 0,
            skipped: (0, 0),
            dropped: DroppedStreams::new(2 * most as usize + 64),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn last_number(&self) -> u32 {
        self.last
    }

    fn place(&self, number: u32) -> Result<usize, usize> {
        // The newest one is asked for most.
        match self.open.last() {
            Some(stream) if stream.number == number => Ok(self.open.len() - 1),
            _ => self
                .open
                .binary_search_by_key(&number, |stream| stream.number),
        }
    }

    pub(super) fn find(&mut self, number: u32) -> Option<&mut Stream> {
        let place = self.place(number).ok()?;
        self.open.get_mut(place)
    }

    pub(super) fn is_open(&self, number: u32) -> bool {
        self.place(number).is_ok()
    }

    /// The state of a stream that is not open.
    pub(super) fn find_gone(&self, number: u32) -> Gone {
        if number.is_multiple_of(2) {
            Gone::Skipped
        } else if number > self.last {
            Gone::Idle
        } else if number > self.skipped.0 && number < self.skipped.1 {
            Gone::Skipped
        } else if self.dropped.may_have(number) {
            Gone::Dropped
        } else {
            Gone::Closed
        }
    }

    /// Notes that the client uses this number, which was idle.
    pub(super) fn note(&mut self, number: u32) {
        if number > self.last + 2 || self.last == 0 {
            self.skipped = (self.last, number);
        }
        self.last = number;
    }

    /// Opens a stream that was noted.
    pub(super) fn open(&mut self, stream: Stream) {
        self.open.push(stream);
    }

    /// Forgets a stream that is over.
    pub(super) fn close(&mut self, number: u32) -> Option<Stream> {
        let place = self.place(number).ok()?;
        Some(self.open.remove(place))
    }

    /// Notes a stream whose client may go on sending for a while.
    pub(super) fn note_dropped(&mut self, number: u32) {
        self.dropped.note(number);
    }

    /// Changes what may be sent on each stream (RFC 9113, section 6.9.2).
    ///
    /// # Errors
    /// If a window gets too large.
    pub(super) fn move_send_windows(&mut self, by: i64) -> Result<(), ConnectionError> {
        for stream in &mut self.open {
            stream.send_window += by;
            if stream.send_window > WINDOW_MAX {
                return Err(broken(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "SETTINGS make the window of a stream larger than 2^31-1",
                ));
            }
        }
        Ok(())
    }
}
