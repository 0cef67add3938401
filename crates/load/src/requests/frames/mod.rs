//! Prepared requests as frames of HTTP/2: a header block that refers to what the first request of a connection has put into the server's
//! table, and the body. Only stamps and the number of the stream are written into them.

use waggle_wire::http2::{
    frame::{END_HEADERS, END_STREAM, HEAD_BYTES, Kind, PAYLOAD_MIN_BYTES, put_head},
    hpack::{Encoder, Indexing},
};

use super::{
    head_block::{
        HeadTranslator, Indexed, RequestError, RequestParts, field_name, name_and_value,
        put_request_line,
    },
    prepared::{Prepared, Slot},
};

/// Offset of a stream's number in the head of a frame.
const STREAM_AT: usize = 5;

/// Prepared requests, and what the first request on a connection puts into the server's table.
#[derive(Debug)]
pub(crate) struct PreparedFrames {
    /// `None`: it has no such form, and is translated each time.
    requests: Vec<Option<Frames>>,
    /// The header lines that all requests have, in one order.
    shared: Vec<Vec<u8>>,
    /// The server's table after the first request.
    encoder: Encoder,
}

/// The frames of one request.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
    /// Where the numbers of the stream are.
    streams: Vec<usize>,
    pub(crate) body_bytes: usize,
}

impl PreparedFrames {
    /// For requests that were checked.
    pub(crate) fn new(requests: &[Prepared], is_tls: bool) -> Result<Self, RequestError> {
        let shared = shared_lines(requests);
        let mut encoder = Encoder::default();
        let first = requests.first().map_or(&[][..], |request| &request.bytes);
        HeadTranslator::new(is_tls).translate(
            &mut encoder,
            RequestParts::read(first)?,
            Indexed::Lines(&shared),
            &mut Vec::new(),
        )?;
        let frames = |request| frames(request, &encoder, &shared, is_tls);
        Ok(Self {
            requests: requests.iter().map(frames).collect(),
            shared,
            encoder,
        })
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&Frames> {
        self.requests[place].as_ref()
    }

    /// What goes into the server's table with the first request.
    pub(crate) fn indexed_lines(&self) -> Indexed<'_> {
        Indexed::Lines(&self.shared)
    }

    /// Whether the frames can be sent where this encoder has written.
    pub(crate) fn suit(&self, encoder: &Encoder) -> bool {
        encoder.is_like(&self.encoder)
    }
}

impl Frames {
    /// Writes the number of the stream into frames that were copied.
    #[inline]
    pub(crate) fn number(&self, copied: &mut [u8], stream: u32) {
        for &place in &self.streams {
            if let Some((number, _)) = copied[place..].split_first_chunk_mut() {
                *number = stream.to_be_bytes();
            }
        }
    }
}

/// Header lines without slots that all requests have, if they have them in the same order.
fn shared_lines(requests: &[Prepared]) -> Vec<Vec<u8>> {
    let mut all = requests.iter().map(fixed_lines);
    let mut shared = all.next().unwrap_or_default();
    for lines in all {
        shared.retain(|line| lines.contains(line));
        let mut places = shared
            .iter()
            .filter_map(|line| lines.iter().position(|other| other == line));
        if !places.by_ref().is_sorted() {
            return Vec::new();
        }
    }
    shared.retain(|line| !line.to_ascii_lowercase().starts_with(b"content-length:"));
    shared
}

/// The header lines of a request that have no slot.
fn fixed_lines(request: &Prepared) -> Vec<Vec<u8>> {
    let Ok(parts) = RequestParts::read(&request.bytes) else {
        return Vec::new();
    };
    let lines = parts.each_line();
    lines
        .filter(|line| slots_in(request, line).is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Offset of a part of the request's bytes.
fn offset(request: &Prepared, part: &[u8]) -> usize {
    part.as_ptr() as usize - request.bytes.as_ptr() as usize
}

/// The slots that begin in a part of the request's bytes, with their offsets in it.
fn slots_in(request: &Prepared, part: &[u8]) -> Vec<Slot> {
    let start = offset(request, part);
    let slots = request.slots.iter();
    slots
        .filter(|slot| (start..start + part.len()).contains(&slot.at))
        .map(|slot| Slot {
            at: slot.at - start,
            stamp: slot.stamp,
        })
        .collect()
}

/// The frames of a request; `None` if its block needs several of them or changes the table, or a slot is not in one value.
fn frames(
    request: &Prepared,
    encoder: &Encoder,
    shared: &[Vec<u8>],
    is_tls: bool,
) -> Option<Frames> {
    let before = encoder.changes();
    let mut encoder = encoder.clone();
    let parts = RequestParts::read(&request.bytes).ok()?;
    let body = parts.body;
    let mut made = Frames {
        bytes: vec![0; HEAD_BYTES],
        slots: Vec::new(),
        streams: vec![STREAM_AT],
        body_bytes: body.len(),
    };
    put_request_line(parts, is_tls, &mut made.bytes);
    if !slots_in(request, parts.method).is_empty() {
        return None;
    }
    // The target is the last part that was written, and written as it is.
    let target_at = made.bytes.len() - parts.target.len();
    let target_slots = slots_in(request, parts.target);
    made.note_slots(&target_slots, target_at, parts.target.len())?;
    let host = parts.host_line().ok()?;
    let others = parts.each_line().filter(|line| !std::ptr::eq(*line, host));
    for line in std::iter::once(host).chain(others) {
        made.put_line(request, line, &mut encoder, shared)?;
    }
    let block_bytes = made.bytes.len() - HEAD_BYTES;
    if block_bytes > PAYLOAD_MIN_BYTES {
        return None;
    }
    let flags = END_HEADERS | if body.is_empty() { END_STREAM } else { 0 };
    let mut head = Vec::new();
    put_head(&mut head, Kind::HEADERS, flags, 0, block_bytes);
    made.bytes[..HEAD_BYTES].copy_from_slice(&head);
    made.put_body(body, &slots_in(request, body))?;
    let is_settled = before == encoder.changes();
    (is_settled && made.slots.len() == request.slots.len()).then_some(made)
}

impl Frames {
    /// Notes slots of a text that was written at `start`.
    fn note_slots(&mut self, slots: &[Slot], start: usize, length: usize) -> Option<()> {
        for slot in slots {
            if slot.at + slot.stamp.length() > length {
                return None;
            }
            self.slots.push(Slot {
                at: start + slot.at,
                stamp: slot.stamp,
            });
        }
        Some(())
    }

    fn put_line(
        &mut self,
        request: &Prepared,
        line: &[u8],
        encoder: &mut Encoder,
        shared: &[Vec<u8>],
    ) -> Option<()> {
        let (name, value) = name_and_value(line)?;
        let name = match name.eq_ignore_ascii_case(b"host") {
            true => Some(b":authority".to_vec()),
            false => field_name(name, value),
        };
        let slots = slots_in(request, value);
        let Some(name) = name else {
            return slots.is_empty().then_some(());
        };
        if shared.iter().any(|other| other == line) {
            encoder.put(&mut self.bytes, &name, value, Indexing::Added);
            return Some(());
        }
        let start = encoder.put_plain(&mut self.bytes, &name, value);
        self.note_slots(&slots, start, value.len())
    }

    /// Appends the body as DATA frames that cut no slot.
    fn put_body(&mut self, body: &[u8], slots: &[Slot]) -> Option<()> {
        let mut start = 0;
        while start < body.len() {
            let mut end = body.len().min(start + PAYLOAD_MIN_BYTES);
            let cut = slots
                .iter()
                .find(|slot| slot.at < end && slot.at + slot.stamp.length() > end);
            if let Some(slot) = cut.filter(|_| end < body.len()) {
                end = slot.at;
            }
            let flags = if end == body.len() { END_STREAM } else { 0 };
            self.streams.push(self.bytes.len() + STREAM_AT);
            put_head(&mut self.bytes, Kind::DATA, flags, 0, end - start);
            let written = self.bytes.len();
            self.bytes.extend_from_slice(&body[start..end]);
            for slot in slots.iter().filter(|slot| (start..end).contains(&slot.at)) {
                let moved = Slot {
                    at: slot.at - start,
                    stamp: slot.stamp,
                };
                self.note_slots(&[moved], written, end - start)?;
            }
            start = end;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
