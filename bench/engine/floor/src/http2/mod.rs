//! HTTP/2 by hand (RFC 9113): as much as the bare client and the null server need of frames. They are told apart by their heads; the
//! blocks of header fields in them are never read.

pub(crate) mod client;
pub(crate) mod server;

use std::{error::Error, io};

use rustix::{
    fd::OwnedFd,
    io::Errno,
    net::{RecvFlags, SendFlags},
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;
/// No settings of either side allow more.
const PAYLOAD_MAX_BYTES: usize = 16_384;
const INPUT_BYTES: usize = 64 * 1_024;
const WINDOW_MAX_BYTES: u32 = (1 << 31) - 1;
const WINDOW_BYTES_AT_START: u32 = 65_535;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const NO_FLAGS: u8 = 0;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl Frame<'_> {
    fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

fn write_frame(kind: u8, flags: u8, stream: u32, payload: &[u8], output: &mut Vec<u8>) {
    let length = payload.len() as u32;
    output.extend_from_slice(&length.to_be_bytes()[1..]);
    output.extend_from_slice(&[kind, flags]);
    output.extend_from_slice(&stream.to_be_bytes());
    output.extend_from_slice(payload);
}

fn write_settings(settings: &[(u16, u32)], output: &mut Vec<u8>) {
    let mut payload = Vec::new();
    for (name, value) in settings {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    write_frame(SETTINGS, NO_FLAGS, 0, &payload, output);
}

/// Lets the peer send so many bytes more on the connection.
fn write_window_update(bytes: u32, output: &mut Vec<u8>) {
    write_frame(WINDOW_UPDATE, NO_FLAGS, 0, &bytes.to_be_bytes(), output);
}

/// What one connection has received.
#[derive(Default)]
struct Received {
    /// The beginning of a frame that is not whole.
    partial: Vec<u8>,
    /// Bytes of DATA since the last update of the connection's window.
    data_bytes: u32,
}

impl Received {
    /// Cuts the bytes into frames, acknowledges SETTINGS and PING, widens the connection's window once `window_bytes` of it are used, and
    /// gives every other frame to `take`.
    fn cut(
        &mut self,
        bytes: &[u8],
        window_bytes: u32,
        output: &mut Vec<u8>,
        mut take: impl FnMut(&Frame, &mut Vec<u8>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let mut joined = std::mem::take(&mut self.partial);
        let mut rest = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            rest = &joined;
        }
        while let Some((frame, after)) = split(rest)? {
            rest = after;
            match frame.kind {
                SETTINGS if frame.flags & ACK == 0 => write_frame(SETTINGS, ACK, 0, &[], output),
                PING if frame.flags & ACK == 0 => write_frame(PING, ACK, 0, frame.payload, output),
                DATA => {
                    self.data_bytes += frame.payload.len() as u32;
                    take(&frame, output)?;
                }
                _ => take(&frame, output)?,
            }
        }
        self.partial.extend_from_slice(rest);
        if self.data_bytes >= window_bytes {
            write_window_update(std::mem::take(&mut self.data_bytes), output);
        }
        Ok(())
    }
}

type FrameAndRest<'a> = (Frame<'a>, &'a [u8]);

/// The first frame and what follows it; `None` if it is not whole.
fn split(bytes: &[u8]) -> Result<Option<FrameAndRest<'_>>, Box<dyn Error>> {
    let Some((&[high, middle, low, kind, flags, ref stream @ ..], rest)) =
        bytes.split_first_chunk::<HEAD_BYTES>()
    else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([0, high, middle, low]) as usize;
    if length > PAYLOAD_MAX_BYTES {
        return Err(format!("a frame of {length} bytes, more than {PAYLOAD_MAX_BYTES}").into());
    }
    let Some((payload, after)) = rest.split_at_checked(length) else {
        return Ok(None);
    };
    let frame = Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(*stream) & WINDOW_MAX_BYTES,
        payload,
    };
    Ok(Some((frame, after)))
}

/// `None`: nothing has come. 0: the peer has closed.
fn receive(socket: &OwnedFd, input: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::net::recv(socket, input, RecvFlags::empty()) {
        Ok((received, _)) => Ok(Some(received)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// How many of the bytes the socket took.
fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(sent) => Ok(sent),
        Err(Errno::AGAIN) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
