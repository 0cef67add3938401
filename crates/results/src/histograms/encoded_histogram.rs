//! One histogram as it is written in a line of an interval log: base64 around HdrHistogram's V2 + deflate.
//!
//! It is read here and not by hdrhistogram's own decoder, which trusts the lengths it reads (a line of 60 bytes may make it
//! allocate 4 GB) and makes a histogram of 190 kB of each line. Adding a checked line to others cannot fail.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::{
    Histogram,
    serialization::{Serializer, V2DeflateSerializer},
};

const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COOKIE_COMPRESSED: u32 = 0x1c84_9304 | 0x10;
const HEAD_BYTES: usize = 40;
/// A histogram from 1 µs to 1 h with three digits has 24,000 counters of at most 9 bytes.
const INFLATED_MAX_BYTES: usize = 1 << 20;
/// Most histograms need no more.
const INFLATED_BYTES: usize = 4 << 10;
const DIGITS_MAX: u8 = 3;
/// 12 days in microseconds; keeps the counters of one histogram below 300 kB.
const HIGHEST_MAX: u64 = 1 << 40;
/// So that a million lines can be added up in 64 bits.
const COUNT_MAX: u64 = 1 << 40;

/// A histogram whose counters were checked. They stay as they are written, a byte or two each: as a histogram they would take 190
/// kB.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    layout: Layout,
    counters: Box<[u8]>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Encoded({} bytes)", self.counters.len())
    }
}

impl Encoded {
    /// The histogram.
    pub(crate) fn decode(&self) -> Histogram<u64> {
        let Layout {
            lowest,
            highest,
            digits,
        } = self.layout;
        let mut histogram = Histogram::new_with_bounds(lowest, highest, digits)
            .expect("the layout was checked when it was read");
        histogram.auto(true);
        self.add_to(&mut histogram);
        histogram
    }

    /// Adds its counts to a histogram that grows to the range it needs.
    pub(crate) fn add_to(&self, sum: &mut Histogram<u64>) {
        let mut record = |value, count| sum.record_n(value, count);
        self.each_count(|value, count| record(value, count).expect("the sum grows"));
    }

    /// Each value that it has, in their order, with its count.
    pub(crate) fn each_count(&self, mut visit: impl FnMut(u64, u64)) {
        let visited = each_counter(&self.counters, |index, count| {
            visit(self.layout.value(index), count);
            Ok(())
        });
        visited.expect("counters were checked when they were read");
    }
}

/// Which values a histogram's counters count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    lowest: u64,
    highest: u64,
    digits: u8,
}

impl Layout {
    /// Reads the layout from the head of V2.
    fn of_head(head: &[u8]) -> Result<Self, String> {
        let cut = "the histogram is cut short";
        let digits = be_u32(head, 12).ok_or(cut)?;
        let digits = u8::try_from(digits)
            .ok()
            .filter(|digits| (1..=DIGITS_MAX).contains(digits))
            .ok_or_else(|| {
                format!("the histogram has {digits} significant digits; 1 to {DIGITS_MAX} are read")
            })?;
        let lowest = be_u64(head, 16).ok_or(cut)?;
        let highest = be_u64(head, 24).ok_or(cut)?;
        if highest > HIGHEST_MAX {
            return Err(format!(
                "the histogram reaches to {highest}; {HIGHEST_MAX} at most is read"
            ));
        }
        if lowest == 0 || highest / 2 < lowest {
            return Err(format!(
                "the histogram reaches from {lowest} to {highest}, which is no range"
            ));
        }
        Ok(Self {
            lowest,
            highest,
            digits,
        })
    }

    /// The lowest value that the counter at this index counts. The counters lie in buckets, each over twice the range of the one
    /// before; the first has as many of them as its digits need, the others the upper half of that.
    fn value(self, index: u64) -> u64 {
        let half_magnitude = (2 * 10_u64.pow(self.digits.into()) - 1).ilog2();
        let half = 1 << half_magnitude;
        let (bucket, offset) = match index >> half_magnitude {
            0 => (0, index),
            buckets => (buckets - 1, (index & (half - 1)) + half),
        };
        let shift = bucket + u64::from(self.lowest.ilog2());
        u32::try_from(shift)
            .ok()
            .filter(|shift| *shift <= offset.leading_zeros())
            .map_or(u64::MAX, |shift| offset << shift)
    }
}

/// Why the text of a histogram cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Damage(String);

/// Reads histograms one after another, each into the memory of the one before.
pub(crate) struct Decoder {
    inflate: Decompress,
    inflated: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Decompress::new(true),
            inflated: Vec::with_capacity(INFLATED_BYTES),
        }
    }

    /// Checks the base64 text of one line.
    pub(crate) fn decode_base64(&mut self, text: &str) -> Result<Encoded, Damage> {
        let deflated = STANDARD
            .decode(text)
            .map_err(|error| Damage(format!("the histogram is not base64: {error}")))?;
        self.inflate(&deflated).map_err(Damage)?;
        v2(&self.inflated).map_err(Damage)
    }

    fn inflate(&mut self, deflated: &[u8]) -> Result<(), String> {
        if be_u32(deflated, 0) != Some(COOKIE_COMPRESSED) {
            return Err("the histogram is not in HdrHistogram's V2 deflate format".into());
        }
        let length = be_u32(deflated, 4).ok_or("the histogram is cut short")? as usize;
        let body = deflated.get(8..).filter(|body| body.len() == length);
        let body = body.ok_or("the histogram's length is not the one it names")?;
        self.inflate.reset(true);
        self.inflated.clear();
        let mut rest = body;
        loop {
            let before = self.inflate.total_in();
            let status = self
                .inflate
                .decompress_vec(rest, &mut self.inflated, FlushDecompress::None)
                .map_err(|error| format!("the histogram cannot be inflated: {error}"))?;
            let used = usize::try_from(self.inflate.total_in() - before);
            rest = &rest[used.expect("no more is used than there is")..];
            let is_full = self.inflated.len() == self.inflated.capacity();
            if status == Status::StreamEnd {
                return Ok(());
            }
            if !is_full {
                return Err("the histogram cannot be inflated: it is cut short".into());
            }
            if self.inflated.len() >= INFLATED_MAX_BYTES {
                return Err(format!(
                    "the histogram is larger than {INFLATED_MAX_BYTES} bytes"
                ));
            }
            self.inflated.reserve(self.inflated.len());
        }
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

/// The head and the counters.
fn v2(inflated: &[u8]) -> Result<Encoded, String> {
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
    if be_u32(inflated, 8) != Some(0) || be_u64(inflated, 32) != Some(1_f64.to_bits()) {
        return Err("the histogram is shifted or scaled, which is not read".into());
    }
    let layout = Layout::of_head(inflated)?;
    let mut total = 0_u64;
    each_counter(counters, |index, count| {
        total = total.saturating_add(count);
        check_range(layout.value(index), total)
    })?;
    Ok(Encoded {
        layout,
        counters: counters.into(),
    })
}

fn check_range(value: u64, total: u64) -> Result<(), String> {
    if value >= 2 * HIGHEST_MAX || total > COUNT_MAX {
        return Err("the histogram has more counters or counts than it can hold".into());
    }
    Ok(())
}

/// Visits the counters that are not zero, each with its index. They are zigzag numbers of at most nine bytes; a negative one is a
/// run of zeros.
fn each_counter(
    mut bytes: &[u8],
    mut each: impl FnMut(u64, u64) -> Result<(), String>,
) -> Result<(), String> {
    let mut index = 0_u64;
    while !bytes.is_empty() {
        let (number, used) = varint(bytes).ok_or("a counter is cut short")?;
        bytes = &bytes[used..];
        // The same zigzag as in the format: even numbers are counts, odd ones are runs.
        let (is_run, magnitude) = (number & 1 == 1, number >> 1);
        if is_run {
            index = index.saturating_add(magnitude.saturating_add(1));
            continue;
        }
        if magnitude > 0 {
            each(index, magnitude)?;
        }
        index = index.saturating_add(1);
    }
    Ok(())
}

fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().enumerate().take(9) {
        if index == 8 {
            return Some((value | (u64::from(byte) << 56), 9));
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

fn be_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_be_bytes(
        bytes.get(offset..offset + 4)?.try_into().ok()?,
    ))
}

fn be_u64(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_be_bytes(
        bytes.get(offset..offset + 8)?.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::*;

    /// Histograms that hdrhistogram writes are read as hdrhistogram reads them.
    fn check(lowest: u64, digits: u8, values: &[(u64, u64)]) {
        let mut written = Histogram::new_with_bounds(lowest, 1 << 32, digits).unwrap();
        for (value, count) in values {
            written.record_n(*value, *count).unwrap();
        }
        let text = to_base64(&mut V2DeflateSerializer::new(), &written).unwrap();
        let read = Decoder::new().decode_base64(&text).unwrap();
        assert_eq!(read.decode(), written);
        let bytes = STANDARD.decode(text).unwrap();
        let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        let mut sum = Histogram::new(3).unwrap();
        let mut their_sum = sum.clone();
        for _ in 0..2 {
            read.add_to(&mut sum);
            their_sum.add(&theirs).unwrap();
        }
        assert_eq!(sum, their_sum);
        assert_eq!((sum.min(), sum.max()), (their_sum.min(), their_sum.max()));
    }

    proptest! {
        #[test]
        fn all_that_hdrhistogram_writes_is_read(
            lowest in 1_u64..100,
            digits in 1_u8..=3,
            values in proptest::collection::vec((0_u64..1 << 32, 1_u64..1 << 30), 0..40),
        ) {
            check(lowest, digits, &values);
        }
    }

    #[test]
    fn one_decoder_reads_many_of_any_length() {
        let mut decoder = Decoder::new();
        for values in [10, 200_000, 1] {
            let mut written = Histogram::<u64>::new(3).unwrap();
            (1..=values).for_each(|value| written.record(value * 37).unwrap());
            let text = to_base64(&mut V2DeflateSerializer::new(), &written).unwrap();
            assert_eq!(decoder.decode_base64(&text).unwrap().decode(), written);
        }
    }
}
