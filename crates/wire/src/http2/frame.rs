//! Frames (RFC 9113, sections 4 and 6): heads, their payloads, and frames to send.

use super::error::{ConnectionError, ErrorCode, broken};

/// Length of a frame's head.
pub const HEAD_BYTES: usize = 9;
/// The least limit on a payload that a peer may have, which is also the initial one.
pub const PAYLOAD_MIN_BYTES: usize = 16_384;
/// The largest window of flow control.
pub const WINDOW_MAX: i64 = 0x7fff_ffff;
/// The window of a connection at its start, and of its streams until the settings say otherwise.
pub const WINDOW_INITIAL: i64 = 65_535;
/// How a client begins (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// DATA and HEADERS: the stream's last frame. SETTINGS and PING: an acknowledgement.
pub const END_STREAM: u8 = 0x1;
pub const ACK: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;
pub const PADDED: u8 = 0x8;
pub const PRIORITY: u8 = 0x20;

/// The type of a frame. Unknown types are kept, so that they can be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    pub const DATA: Self = Self(0);
    pub const HEADERS: Self = Self(1);
    pub const PRIORITY: Self = Self(2);
    pub const RST_STREAM: Self = Self(3);
    pub const SETTINGS: Self = Self(4);
    pub const PUSH_PROMISE: Self = Self(5);
    pub const PING: Self = Self(6);
    pub const GOAWAY: Self = Self(7);
    pub const WINDOW_UPDATE: Self = Self(8);
    pub const CONTINUATION: Self = Self(9);
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Of the payload.
    pub length: usize,
    pub kind: Kind,
    pub flags: u8,
    /// 0: the connection.
    pub stream: u32,
}

impl Head {
    /// The head at the start of `bytes`, if all of it is there.
    #[inline]
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *head;
        Some(Self {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind: Kind(kind),
            flags,
            // The reserved bit is ignored.
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        })
    }

    #[inline]
    #[must_use]
    pub fn has_flag(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's head.
#[inline]
pub fn put_head(out: &mut Vec<u8>, kind: Kind, flags: u8, stream: u32, length: usize) {
    debug_assert!(length < 1 << 24);
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind.0, flags, s0, s1, s2, s3]);
}

/// The payload of DATA or HEADERS without its padding, and without the priority of HEADERS.
///
/// # Errors
/// If the padding is not smaller than the payload, or the payload too short.
#[inline]
pub fn content(head: Head, payload: &[u8]) -> Result<&[u8], ConnectionError> {
    let has_priority = head.kind == Kind::HEADERS && head.has_flag(PRIORITY);
    if !head.has_flag(PADDED) && !has_priority {
        return Ok(payload);
    }
    padded_content(head, payload, has_priority)
}

#[cold]
fn padded_content(
    head: Head,
    payload: &[u8],
    has_priority: bool,
) -> Result<&[u8], ConnectionError> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has_flag(PADDED) {
        let (&length, after) = rest.split_first().ok_or(broken(
            ErrorCode::FRAME_SIZE_ERROR,
            "a padded frame has no length of its padding",
        ))?;
        (padding, rest) = (usize::from(length), after);
    }
    if has_priority {
        let too_short = broken(
            ErrorCode::FRAME_SIZE_ERROR,
            "HEADERS is too short for its priority",
        );
        let (priority, after) = rest.split_at_checked(5).ok_or(too_short)?;
        let parent =
            u32::from_be_bytes([priority[0] & 0x7f, priority[1], priority[2], priority[3]]);
        if parent == head.stream {
            return Err(broken(
                ErrorCode::PROTOCOL_ERROR,
                "a stream depends on itself",
            ));
        }
        rest = after;
    }
    match rest.len().checked_sub(padding) {
        Some(length) => Ok(&rest[..length]),
        None => Err(broken(
            ErrorCode::PROTOCOL_ERROR,
            "the padding is longer than its frame",
        )),
    }
}

/// A parameter of SETTINGS (RFC 9113, section 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    HeaderTableSize(u32),
    EnablePush(bool),
    MaxConcurrentStreams(u32),
    /// At most [`WINDOW_MAX`].
    InitialWindowSize(u32),
    MaxFrameSize(u32),
    MaxHeaderListSize(u32),
}

impl Setting {
    fn number_and_value(self) -> (u16, u32) {
        match self {
            Self::HeaderTableSize(size) => (1, size),
            Self::EnablePush(is_enabled) => (2, u32::from(is_enabled)),
            Self::MaxConcurrentStreams(most) => (3, most),
            Self::InitialWindowSize(size) => (4, size),
            Self::MaxFrameSize(size) => (5, size),
            Self::MaxHeaderListSize(size) => (6, size),
        }
    }

    /// `None` for a parameter that is not known, which is ignored.
    fn check(number: u16, value: u32) -> Result<Option<Self>, ConnectionError> {
        Ok(Some(match (number, value) {
            (1, size) => Self::HeaderTableSize(size),
            (2, 0) => Self::EnablePush(false),
            (2, 1) => Self::EnablePush(true),
            (2, _) => {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "SETTINGS_ENABLE_PUSH is neither 0 nor 1",
                ));
            }
            (3, most) => Self::MaxConcurrentStreams(most),
            (4, size) if i64::from(size) <= WINDOW_MAX => Self::InitialWindowSize(size),
            (4, _) => {
                return Err(broken(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "SETTINGS_INITIAL_WINDOW_SIZE is above 2^31-1",
                ));
            }
            (5, size) if (16_384..1 << 24).contains(&size) => Self::MaxFrameSize(size),
            (5, _) => {
                return Err(broken(
                    ErrorCode::PROTOCOL_ERROR,
                    "SETTINGS_MAX_FRAME_SIZE is not in 2^14..2^24",
                ));
            }
            (6, size) => Self::MaxHeaderListSize(size),
            _ => return Ok(None),
        }))
    }
}

/// The parameters of a SETTINGS frame that are known, in order.
///
/// # Errors
/// If the frame is not one of the connection, has the wrong length, or a value is out of range.
pub fn settings(
    head: Head,
    payload: &[u8],
) -> Result<impl Iterator<Item = Setting>, ConnectionError> {
    if head.stream != 0 {
        return Err(broken(ErrorCode::PROTOCOL_ERROR, "SETTINGS on a stream"));
    }
    let is_right_length = if head.has_flag(ACK) {
        payload.is_empty()
    } else {
        payload.len().is_multiple_of(6)
    };
    if !is_right_length {
        return Err(broken(
            ErrorCode::FRAME_SIZE_ERROR,
            "SETTINGS has the wrong length",
        ));
    }
    let parameter = |bytes: &[u8]| {
        Setting::check(
            u16::from_be_bytes([bytes[0], bytes[1]]),
            u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]),
        )
    };
    // All of them are judged before the first one is in force.
    for bytes in payload.chunks_exact(6) {
        parameter(bytes)?;
    }
    let parameters = payload.chunks_exact(6);
    Ok(parameters.filter_map(move |bytes| parameter(bytes).ok().flatten()))
}

/// Appends a SETTINGS frame.
pub fn put_settings(out: &mut Vec<u8>, settings: &[Setting]) {
    put_head(out, Kind::SETTINGS, 0, 0, settings.len() * 6);
    for setting in settings {
        let (number, value) = setting.number_and_value();
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends the acknowledgement of SETTINGS.
pub fn put_settings_ack(out: &mut Vec<u8>) {
    put_head(out, Kind::SETTINGS, ACK, 0, 0);
}

/// The payload of a PING.
///
/// # Errors
/// If it is on a stream, or does not have 8 bytes.
pub fn ping(head: Head, payload: &[u8]) -> Result<[u8; 8], ConnectionError> {
    if head.stream != 0 {
        return Err(broken(ErrorCode::PROTOCOL_ERROR, "PING on a stream"));
    }
    payload
        .try_into()
        .map_err(|_| broken(ErrorCode::FRAME_SIZE_ERROR, "PING does not have 8 bytes"))
}

/// Appends the answer to a PING.
pub fn put_ping_ack(out: &mut Vec<u8>, payload: [u8; 8]) {
    put_head(out, Kind::PING, ACK, 0, 8);
    out.extend_from_slice(&payload);
}

/// The increment of a WINDOW_UPDATE; 0 is an error of the stream or of the connection, whichever it is for.
///
/// # Errors
/// If it does not have 4 bytes.
#[inline]
pub fn window_update(payload: &[u8]) -> Result<u32, ConnectionError> {
    Ok(word(payload, "WINDOW_UPDATE does not have 4 bytes")? & 0x7fff_ffff)
}

/// Appends a WINDOW_UPDATE.
#[inline]
pub fn put_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    put_head(out, Kind::WINDOW_UPDATE, 0, stream, 4);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// The code of a RST_STREAM.
///
/// # Errors
/// If it is not on a stream, or does not have 4 bytes.
pub fn rst_stream(head: Head, payload: &[u8]) -> Result<ErrorCode, ConnectionError> {
    if head.stream == 0 {
        return Err(broken(
            ErrorCode::PROTOCOL_ERROR,
            "RST_STREAM without a stream",
        ));
    }
    Ok(ErrorCode(word(
        payload,
        "RST_STREAM does not have 4 bytes",
    )?))
}

/// Appends a RST_STREAM.
pub fn put_rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    put_head(out, Kind::RST_STREAM, 0, stream, 4);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// What a GOAWAY says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAway {
    /// Streams above this one were not processed.
    pub last_stream: u32,
    pub code: ErrorCode,
}

/// Reads a GOAWAY; its text for people is skipped.
///
/// # Errors
/// If it is on a stream or too short.
pub fn go_away(head: Head, payload: &[u8]) -> Result<GoAway, ConnectionError> {
    if head.stream != 0 {
        return Err(broken(ErrorCode::PROTOCOL_ERROR, "GOAWAY on a stream"));
    }
    let Some(&[s0, s1, s2, s3, c0, c1, c2, c3]) = payload.first_chunk() else {
        return Err(broken(
            ErrorCode::FRAME_SIZE_ERROR,
            "GOAWAY has fewer than 8 bytes",
        ));
    };
    Ok(GoAway {
        last_stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        code: ErrorCode(u32::from_be_bytes([c0, c1, c2, c3])),
    })
}

/// Appends a GOAWAY.
pub fn put_go_away(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode, text: &str) {
    put_head(out, Kind::GOAWAY, 0, 0, 8 + text.len());
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Checks a PRIORITY frame, which means nothing any more (RFC 9113, section 5.3.2); returns the error of its stream, if it has one.
///
/// # Errors
/// If it is not on a stream.
pub fn check_priority(head: Head, payload: &[u8]) -> Result<Option<ErrorCode>, ConnectionError> {
    if head.stream == 0 {
        return Err(broken(
            ErrorCode::PROTOCOL_ERROR,
            "PRIORITY without a stream",
        ));
    }
    let Some(&[s0, s1, s2, s3, _]) = payload.first_chunk::<5>().filter(|_| payload.len() == 5)
    else {
        return Ok(Some(ErrorCode::FRAME_SIZE_ERROR));
    };
    let depends_on_itself = u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]) == head.stream;
    Ok(depends_on_itself.then_some(ErrorCode::PROTOCOL_ERROR))
}

fn word(payload: &[u8], problem: &'static str) -> Result<u32, ConnectionError> {
    match payload.try_into() {
        Ok(bytes) => Ok(u32::from_be_bytes(bytes)),
        Err(_) => Err(broken(ErrorCode::FRAME_SIZE_ERROR, problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_written() {
        let mut out = Vec::new();
        put_head(
            &mut out,
            Kind::HEADERS,
            END_HEADERS,
            0x7fff_ffff,
            0x01_02_03,
        );
        assert_eq!(out, [1, 2, 3, 1, 4, 0x7f, 0xff, 0xff, 0xff]);
        out[5] |= 0x80;
        let head = Head::read(&out).unwrap();
        assert_eq!(
            head,
            Head {
                length: 0x01_02_03,
                kind: Kind::HEADERS,
                flags: END_HEADERS,
                stream: 0x7fff_ffff,
            }
        );
        assert_eq!(Head::read(&out[..8]), None);
    }

    #[test]
    fn padding_and_priority_are_removed() {
        let check = |kind, flags, payload: &[u8], expected: Result<&[u8], ErrorCode>| {
            let head = Head {
                length: payload.len(),
                kind,
                flags,
                stream: 1,
            };
            let read = content(head, payload).map_err(|error| error.code);
            assert_eq!(read, expected, "{payload:?}");
        };
        check(Kind::DATA, 0, b"ab", Ok(b"ab"));
        check(Kind::DATA, PADDED, b"\x01ab", Ok(b"a"));
        check(Kind::DATA, PADDED, b"\x02ab", Ok(b""));
        check(
            Kind::DATA,
            PADDED,
            b"\x03ab",
            Err(ErrorCode::PROTOCOL_ERROR),
        );
        check(Kind::DATA, PADDED, b"", Err(ErrorCode::FRAME_SIZE_ERROR));
        // DATA has no priority.
        check(Kind::DATA, PRIORITY, b"ab", Ok(b"ab"));
        let both = PADDED | PRIORITY;
        check(Kind::HEADERS, both, b"\x01\0\0\0\x03\x10ab", Ok(b"a"));
        check(Kind::HEADERS, PRIORITY, b"\0\0\0\x03\x10", Ok(b""));
        check(
            Kind::HEADERS,
            PRIORITY,
            b"\0\0\0\x01\x10",
            Err(ErrorCode::PROTOCOL_ERROR),
        );
        check(
            Kind::HEADERS,
            PRIORITY,
            b"\0\0\0\x03",
            Err(ErrorCode::FRAME_SIZE_ERROR),
        );
    }

    #[test]
    fn settings_are_judged_as_a_whole() {
        let check = |stream, flags, payload: &[u8], expected: Result<Vec<Setting>, ErrorCode>| {
            let head = Head {
                length: payload.len(),
                kind: Kind::SETTINGS,
                flags,
                stream,
            };
            let read = settings(head, payload).map_err(|error| error.code);
            assert_eq!(
                read.map(Iterator::collect::<Vec<_>>),
                expected,
                "{payload:?}"
            );
        };
        let all = [
            Setting::HeaderTableSize(0),
            Setting::EnablePush(false),
            Setting::MaxConcurrentStreams(7),
            Setting::InitialWindowSize(0x7fff_ffff),
            Setting::MaxFrameSize(16_384),
            Setting::MaxHeaderListSize(9),
        ];
        let mut out = Vec::new();
        put_settings(&mut out, &all);
        check(0, 0, &out[HEAD_BYTES..], Ok(all.to_vec()));
        check(0, 0, &[0, 99, 0, 0, 0, 1], Ok(vec![]));
        check(0, ACK, &[], Ok(vec![]));
        check(0, ACK, &[0; 6], Err(ErrorCode::FRAME_SIZE_ERROR));
        check(0, 0, &[0; 5], Err(ErrorCode::FRAME_SIZE_ERROR));
        check(1, 0, &[], Err(ErrorCode::PROTOCOL_ERROR));
        check(0, 0, &[0, 2, 0, 0, 0, 2], Err(ErrorCode::PROTOCOL_ERROR));
        check(
            0,
            0,
            &[0, 4, 0x80, 0, 0, 0],
            Err(ErrorCode::FLOW_CONTROL_ERROR),
        );
        check(
            0,
            0,
            &[0, 5, 0, 0, 0x3f, 0xff],
            Err(ErrorCode::PROTOCOL_ERROR),
        );
        check(0, 0, &[0, 5, 1, 0, 0, 0], Err(ErrorCode::PROTOCOL_ERROR));
        // A valid one before an invalid one is not in force either.
        let second = [&all_bytes()[..], &[0, 2, 0, 0, 0, 2]].concat();
        check(0, 0, &second, Err(ErrorCode::PROTOCOL_ERROR));
    }

    fn all_bytes() -> Vec<u8> {
        vec![0, 3, 0, 0, 0, 7]
    }
}
