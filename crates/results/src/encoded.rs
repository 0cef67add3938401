//! One histogram as it stands in a line of an interval log: base64 around HdrHistogram's V2 + deflate.
//!
//! A line read from disk is checked before hdrhistogram's own decoder sees it: that decoder trusts the lengths it
//! reads (a line of 60 bytes may ask it for 4 GB), and a checked line can be decoded later without a way to fail.

use std::{fmt, io::Read};

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2DeflateSerializer},
};

const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COOKIE_COMPRESSED: u32 = 0x1c84_9304 | 0x10;
const HEAD_BYTES: usize = 40;
/// A histogram from 1 µs to 1 h with three digits has 24,000 counters of at most 9 bytes.
const INFLATED_MAX_BYTES: u64 = 1 << 20;
const DIGITS_MAX: u32 = 3;
/// 12 days in microseconds; keeps the counters of one histogram below 300 kB.
const HIGHEST_MAX: u64 = 1 << 40;
/// So that a million lines can be added up in 64 bits.
const COUNT_MAX: u64 = 1 << 40;

/// A histogram that is known to decode.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// V2, deflated as it was on disk.
    deflated: Vec<u8>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Encoded({} bytes)", self.deflated.len())
    }
}

impl Encoded {
    /// Checks the base64 text of one line.
    pub(crate) fn from_base64(text: &str) -> Result<Self, String> {
        let deflated = STANDARD
            .decode(text)
            .map_err(|error| format!("the histogram is not base64: {error}"))?;
        check_v2(&inflate(&deflated)?)?;
        let encoded = Self { deflated };
        encoded.try_decode()?;
        Ok(encoded)
    }

    /// The histogram.
    pub(crate) fn decode(&self) -> Histogram<u64> {
        self.try_decode()
            .expect("was decoded once when it was read")
    }

    fn try_decode(&self) -> Result<Histogram<u64>, String> {
        Deserializer::new()
            .deserialize(&mut self.deflated.as_slice())
            .map_err(|error| format!("the histogram cannot be decoded: {error}"))
    }
}

/// The base64 text for one line.
pub(crate) fn to_base64(
    serializer: &mut V2DeflateSerializer,
    histogram: &Histogram<u64>,
) -> Result<String, std::io::Error> {
    let mut bytes = Vec::new();
    serializer
        .serialize(histogram, &mut bytes)
        .map_err(std::io::Error::other)?;
    Ok(STANDARD.encode(&bytes))
}

fn inflate(deflated: &[u8]) -> Result<Vec<u8>, String> {
    if be_u32(deflated, 0) != Some(COOKIE_COMPRESSED) {
        return Err("the histogram is not in HdrHistogram's V2 deflate format".into());
    }
    let length = be_u32(deflated, 4).ok_or("the histogram is cut short")? as usize;
    let body = deflated.get(8..).filter(|body| body.len() == length);
    let body = body.ok_or("the histogram's length is not the one it names")?;
    let mut inflated = Vec::new();
    let read = flate2::read::ZlibDecoder::new(body)
        .take(INFLATED_MAX_BYTES + 1)
        .read_to_end(&mut inflated);
    read.map_err(|error| format!("the histogram cannot be inflated: {error}"))?;
    if inflated.len() as u64 > INFLATED_MAX_BYTES {
        return Err(format!(
            "the histogram is larger than {INFLATED_MAX_BYTES} bytes"
        ));
    }
    Ok(inflated)
}

fn check_v2(inflated: &[u8]) -> Result<(), String> {
    let cut = "the histogram is cut short";
    if be_u32(inflated, 0) != Some(COOKIE) {
        return Err("the histogram's inner format is not V2".into());
    }
    let length = be_u32(inflated, 4).ok_or(cut)? as usize;
    let counters = inflated.get(HEAD_BYTES..).ok_or(cut)?;
    if counters.len() != length {
        return Err(format!(
            "the histogram has {} bytes of counters and names {length}",
            counters.len()
        ));
    }
    let digits = be_u32(inflated, 12).ok_or(cut)?;
    if !(1..=DIGITS_MAX).contains(&digits) {
        return Err(format!(
            "the histogram has {digits} significant digits; 1 to {DIGITS_MAX} are read"
        ));
    }
    let highest = be_u64(inflated, 24).ok_or(cut)?;
    if highest > HIGHEST_MAX {
        return Err(format!(
            "the histogram reaches to {highest}; {HIGHEST_MAX} at most is read"
        ));
    }
    check_counters(counters)
}

/// Walks the counters: zigzag numbers of at most nine bytes, negative ones standing for runs of zeros.
fn check_counters(mut bytes: &[u8]) -> Result<(), String> {
    let (mut index, mut total) = (0_u64, 0_u64);
    while !bytes.is_empty() {
        let (number, used) = varint(bytes).ok_or("a counter is cut short")?;
        bytes = &bytes[used..];
        // The same zigzag as in the format: even numbers are counts, odd ones are runs.
        let (is_run, magnitude) = (number & 1 == 1, number >> 1);
        if is_run {
            index = index.saturating_add(magnitude.saturating_add(1));
        } else {
            index = index.saturating_add(1);
            total = total.saturating_add(magnitude);
        }
        if index > INFLATED_MAX_BYTES || total > COUNT_MAX {
            return Err("the histogram has more counters or counts than it can hold".into());
        }
    }
    Ok(())
}

fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (place, &byte) in bytes.iter().enumerate().take(9) {
        if place == 8 {
            return Some((value | (u64::from(byte) << 56), 9));
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, place + 1));
        }
    }
    None
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn be_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
