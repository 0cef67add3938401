//! *What*: the bytes of the next request, copied from the prepared ones, with its stamps.

use super::{
    frames::{Frames, PreparedFrames},
    prepared::{KEY_DIGITS, Prepared, Slot, Stamp, TIME_DIGITS, UUID_LENGTH, key_of},
    uuid::uuid,
};
use waggle_spec::Protocol;

use crate::{random::stream::RandomStream, transport::settings::Transport};

/// The number of a request of the worker, and when it is sent, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    pub(crate) index: u64,
    pub(crate) unix: u64,
}

/// Requests in the forms in which they are sent.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) prepared: Vec<Prepared>,
    /// Over HTTP/2.
    pub(crate) frames: Option<PreparedFrames>,
}

impl Requests {
    /// In all forms that the transport may need.
    pub(crate) fn new(prepared: Vec<Prepared>, transport: &Transport) -> Self {
        let is_tls = transport.tls.is_some();
        let frames = match transport.protocol {
            Protocol::Http1 => None,
            // What cannot be translated was refused before.
            Protocol::Http2 | Protocol::Auto => PreparedFrames::new(&prepared, is_tls).ok(),
        };
        Self { prepared, frames }
    }
}

/// Writes the requests of one worker, in turn.
#[derive(Debug)]
pub(crate) struct Writer {
    requests: Requests,
    /// The place of request 0 and of the next one in `requests`.
    first: usize,
    next: usize,
    stamps: Stamps,
}

impl Writer {
    /// `random` is the source of random stamps of all workers.
    pub(crate) fn new(
        requests: Requests,
        worker: usize,
        workers: usize,
        random: RandomStream,
    ) -> Self {
        // Workers begin at different indices, so that they do not all send the same request at the same time.
        let next = requests.prepared.len() * worker / workers;
        Self {
            requests,
            first: next,
            next,
            stamps: Stamps {
                worker,
                workers: workers as u64,
                last_time: 0,
                random: random.inner(worker as u64),
                drawn: 0,
            },
        }
    }

    /// Exchanges the requests for as many others.
    pub(crate) fn exchange_requests(&mut self, requests: &mut Requests) {
        std::mem::swap(&mut self.requests, requests);
    }

    /// The frames of the requests over HTTP/2.
    #[inline]
    pub(crate) fn frames(&self) -> Option<&PreparedFrames> {
        self.requests.frames.as_ref()
    }

    /// The frames of the request at a place, if it has that form.
    #[inline(always)]
    pub(crate) fn frames_at(&self, place: usize) -> Option<&Frames> {
        self.requests.frames.as_ref()?.get(place)
    }

    /// The place of the next request.
    #[inline(always)]
    pub(crate) fn take_place(&mut self) -> usize {
        let place = self.next;
        self.next = if place + 1 == self.requests.prepared.len() {
            0
        } else {
            place + 1
        };
        place
    }

    /// The place of request number `index`.
    pub(crate) fn place(&self, index: u64) -> usize {
        let requests = self.requests.prepared.len() as u64;
        let place = (self.first as u64 + index % requests) % requests;
        usize::try_from(place).expect("it is below the number of requests")
    }

    /// Whether the request at a place is a HEAD.
    #[inline]
    pub(crate) fn is_head(&self, place: usize) -> bool {
        self.requests.prepared[place].is_head
    }

    /// Appends the worker's request number `index`, sent at `unix_now` nanoseconds since 1970; returns whether it is a HEAD.
    // The loop that calls it is compiled twice; without the attribute only a single caller would be inlined.
    #[inline(always)]
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, index: u64, unix_now: u64) -> bool {
        let place = self.take_place();
        let unix = unix_now;
        self.append_at(place, out, Number { index, unix })
    }

    /// Appends request number `index` once more, with the same key.
    pub(crate) fn append_again(&mut self, out: &mut Vec<u8>, index: u64, unix_now: u64) {
        let unix = unix_now;
        self.append_at(self.place(index), out, Number { index, unix });
    }

    #[inline(always)]
    pub(crate) fn append_at(&mut self, place: usize, out: &mut Vec<u8>, number: Number) -> bool {
        let Self {
            requests, stamps, ..
        } = self;
        let request = &requests.prepared[place];
        let start = out.len();
        out.extend_from_slice(&request.bytes);
        stamps.write(&mut out[start..], &request.slots, request.records, number);
        request.is_head
    }

    /// Appends the frames of the request at a place, on a stream.
    #[inline(always)]
    pub(crate) fn append_frames(
        &mut self,
        place: usize,
        stream: u32,
        out: &mut Vec<u8>,
        number: Number,
    ) {
        let Self {
            requests, stamps, ..
        } = self;
        let frames = requests
            .frames
            .as_ref()
            .and_then(|frames| frames.get(place));
        let Some(frames) = frames else {
            return;
        };
        let start = out.len();
        out.extend_from_slice(&frames.bytes);
        let copied = &mut out[start..];
        frames.number(copied, stream);
        if !frames.slots.is_empty() {
            let records = requests.prepared[place].records;
            stamps.write(copied, &frames.slots, records, number);
        }
    }
}

/// What is written into slots.
#[derive(Debug)]
struct Stamps {
    worker: usize,
    workers: u64,
    last_time: u64,
    random: RandomStream,
    /// Values drawn from `random`.
    drawn: u64,
}

impl Stamps {
    /// Writes the stamps of a request with so many records.
    #[inline(always)]
    fn write(&mut self, bytes: &mut [u8], slots: &[Slot], records: u32, number: Number) {
        let Number { index, unix } = number;
        for slot in slots {
            let field = &mut bytes[slot.at..];
            match slot.stamp {
                Stamp::Key { record } => {
                    let sequence = index * u64::from(records) + u64::from(record);
                    digits(&mut field[..KEY_DIGITS], key_of(self.worker, sequence));
                }
                Stamp::Time => {
                    self.last_time = unique_time(self.last_time, unix, self.worker, self.workers);
                    digits(&mut field[..TIME_DIGITS], self.last_time);
                }
                Stamp::Uuid => {
                    let [high, low] = [self.drawn, self.drawn + 1].map(|n| self.random.bits(n));
                    self.drawn += 2;
                    field[..UUID_LENGTH].copy_from_slice(&uuid(high, low));
                }
            }
        }
    }
}

/// The first instant at or after `now` that this worker may use and that is later than its last one.
#[inline]
pub(crate) fn unique_time(last: u64, now: u64, worker: usize, workers: u64) -> u64 {
    let instant = now - now % workers + worker as u64;
    if instant > last {
        instant
    } else {
        last + workers
    }
}

const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Writes a number in decimal so that it fills `field`, with leading zeros.
#[inline]
fn digits(field: &mut [u8], mut number: u64) {
    let mut pairs = field.rchunks_exact_mut(2);
    for pair in &mut pairs {
        let offset = 2 * (number % 100) as usize;
        number /= 100;
        pair.copy_from_slice(&PAIRS[offset..offset + 2]);
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (number % 10) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_fill_their_field() {
        let check = |number, length, expected: &str| {
            let mut field = vec![b'x'; length];
            digits(&mut field, number);
            assert_eq!(String::from_utf8(field).unwrap(), expected);
        };
        check(0, 3, "000");
        check(7, 1, "7");
        check(1_234_567, 7, "1234567");
        check(1_234_567, 8, "01234567");
        check(key_of(0, 0), KEY_DIGITS, "100000000000000000");
        check(
            key_of(899, 999_999_999_999_999),
            KEY_DIGITS,
            "999999999999999999",
        );
        check(
            1_700_000_000_123_456_789,
            TIME_DIGITS,
            "1700000000123456789",
        );
    }

    #[test]
    fn times_increase_and_belong_to_one_worker() {
        let check = |last, now, worker, workers, expected| {
            assert_eq!(
                unique_time(last, now, worker, workers),
                expected,
                "{last} {now} {worker}/{workers}"
            );
        };
        check(0, 1_000, 0, 1, 1_000);
        check(1_000, 1_000, 0, 1, 1_001);
        check(0, 1_001, 0, 2, 1_000);
        check(1_000, 1_001, 0, 2, 1_002);
        check(0, 1_000, 2, 3, 1_001);
        check(2_000, 1_000, 2, 3, 2_003);
    }
}
