//! What the client may send: the limits that the server has set and the client has acknowledged, and what it has used of them.

use std::collections::{BTreeMap, VecDeque};

use super::frame::{
    DATA, Frame, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, SETTINGS,
};

/// Until settings say otherwise (RFC 9113, section 6.5.2).
const WINDOW: i64 = 65_535;
const FRAME_SIZE: usize = 16_384;

#[derive(Debug)]
pub(super) struct ClientLimits {
    /// Settings without an ACK, in order.
    pending: VecDeque<Vec<(u16, u32)>>,
    streams_max: Option<u32>,
    frame_max: usize,
    initial_window: i64,
    connection_window: i64,
    /// Windows of the streams that are not answered yet.
    windows: BTreeMap<u32, i64>,
    last_stream: u32,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            streams_max: None,
            frame_max: FRAME_SIZE,
            initial_window: WINDOW,
            connection_window: WINDOW,
            windows: BTreeMap::new(),
            last_stream: 0,
        }
    }
}

impl ClientLimits {
    /// Settings were sent. They hold from the client's ACK on (RFC 9113, section 6.5.3).
    pub(super) fn announce(&mut self, values: &[(u16, u32)]) {
        self.pending.push_back(values.to_vec());
    }

    pub(super) fn acknowledge(&mut self) {
        for (name, value) in self.pending.pop_front().unwrap_or_default() {
            match name {
                MAX_CONCURRENT_STREAMS => self.streams_max = Some(value),
                MAX_FRAME_SIZE => self.frame_max = value as usize,
                INITIAL_WINDOW_SIZE => self.change_windows(i64::from(value)),
                _ => {}
            }
        }
    }

    /// A window was made larger; 0 is that of the connection.
    pub(super) fn grant(&mut self, stream: u32, bytes: u32) {
        if stream == 0 {
            self.connection_window += i64::from(bytes);
        } else if let Some(window) = self.windows.get_mut(&stream) {
            *window += i64::from(bytes);
        }
    }

    /// The server has ended this stream, or the client has reset it.
    pub(super) fn close(&mut self, stream: u32) {
        self.windows.remove(&stream);
    }

    pub(super) fn window(&self, stream: u32) -> i64 {
        self.windows.get(&stream).copied().unwrap_or_default()
    }

    pub(super) fn open_streams(&self) -> usize {
        self.windows.len()
    }

    /// Panics if the client may not send this frame now.
    pub(super) fn check(&mut self, frame: &Frame) {
        let length = frame.payload.len();
        assert!(
            length <= self.frame_max,
            "a frame of {length} bytes from the client"
        );
        match frame.kind {
            HEADERS => self.open(frame.stream),
            DATA => self.spend(frame.stream, i64::try_from(length).expect("a length")),
            SETTINGS => assert_eq!(frame.stream, 0, "SETTINGS on a stream"),
            _ => {}
        }
    }

    fn open(&mut self, stream: u32) {
        let last = self.last_stream;
        assert!(
            stream % 2 == 1 && stream > last,
            "the client opens stream {stream} after {last}"
        );
        self.last_stream = stream;
        self.windows.insert(stream, self.initial_window);
        let open = self.windows.len();
        let most = self.streams_max.map_or(usize::MAX, |most| most as usize);
        assert!(open <= most, "{open} streams are open, {most} are allowed");
    }

    fn spend(&mut self, stream: u32, length: i64) {
        self.connection_window -= length;
        let connection = self.connection_window;
        // DATA of a stream that was just answered may be on its way.
        let stream_window = self.windows.get_mut(&stream).map_or(0, |window| {
            *window -= length;
            *window
        });
        assert!(
            length == 0 || connection >= 0 && stream_window >= 0,
            "{length} bytes on stream {stream} leave windows of {connection} and {stream_window}"
        );
    }

    /// The windows of open streams change by the same number of bytes, and may become negative (RFC 9113, section 6.9.2).
    fn change_windows(&mut self, window: i64) {
        let change = window - self.initial_window;
        self.initial_window = window;
        for open in self.windows.values_mut() {
            *open += change;
        }
    }
}
