//! Frames of HTTP/2 as bytes (RFC 9113, sections 4.1 and 6).

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// Flags.
pub const END_STREAM: u8 = 0x1;
pub const ACK: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;
pub const PADDED: u8 = 0x8;
pub const WITH_PRIORITY: u8 = 0x20;

/// Settings.
pub const HEADER_TABLE_SIZE: u16 = 1;
pub const ENABLE_PUSH: u16 = 2;
pub const MAX_CONCURRENT_STREAMS: u16 = 3;
pub const INITIAL_WINDOW_SIZE: u16 = 4;
pub const MAX_FRAME_SIZE: u16 = 5;

/// Error codes (RFC 9113, section 7).
pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const INTERNAL_ERROR: u32 = 2;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const STREAM_CLOSED: u32 = 5;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const COMPRESSION_ERROR: u32 = 9;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// Length of a frame's header in bytes.
pub const HEADER_BYTES: usize = 9;

/// A received frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The first frame in `bytes`, if it is complete, and its length with its header.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let header = bytes.get(..HEADER_BYTES)?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let payload = bytes.get(HEADER_BYTES..HEADER_BYTES + length)?;
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let frame = Self {
            kind: header[3],
            flags: header[4],
            stream: stream & 0x7fff_ffff,
            payload: payload.to_vec(),
        };
        Some((frame, HEADER_BYTES + length))
    }

    #[must_use]
    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[must_use]
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.has_flag(END_STREAM)
    }

    /// The four bytes from `start` on as a number.
    #[must_use]
    pub fn number(&self, start: usize) -> u32 {
        let bytes = self.payload.get(start..start + 4);
        let bytes = bytes.unwrap_or_else(|| panic!("{self:?} is too short"));
        u32::from_be_bytes(bytes.try_into().expect("four bytes"))
    }
}

/// Any frame, also an invalid one.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a length of 24 bits");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header block in one frame that ends it.
#[must_use]
pub fn headers(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, block)
}

/// The same, at the end of the stream.
#[must_use]
pub fn last_headers(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, block)
}

#[must_use]
pub fn data(stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, payload)
}

/// DATA at the end of the stream.
#[must_use]
pub fn last_data(stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, payload)
}

#[must_use]
pub fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (name, value) in values {
        payload.extend(name.to_be_bytes());
        payload.extend(value.to_be_bytes());
    }
    frame(SETTINGS, 0, 0, &payload)
}

#[must_use]
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

#[must_use]
pub fn go_away(last_stream: u32, code: u32) -> Vec<u8> {
    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

#[must_use]
pub fn ping(number: u64) -> Vec<u8> {
    frame(PING, 0, 0, &number.to_be_bytes())
}

#[must_use]
pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}
