//! Histograms of times: their bounds, and their form in messages: the V2 format of HdrHistogram, which keeps every count.

use std::fmt::Display;

use hdrhistogram::{
    Histogram,
    serialization::{Serializer as _, V2Serializer},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::machine::clock::microseconds;

const MICROSECONDS_MAX: u64 = 3_600_000_000;
const FIRST_ROOM_MICROSECONDS: u64 = 2_047;
const SIGNIFICANT_DIGITS: u8 = 3;

/// An empty histogram: 1 µs to 1 h, three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MICROSECONDS_MAX, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants in order")
}

/// As [`histogram`], but small at first: there may be many steps, and each slice has three histograms per step.
pub(crate) fn growing_histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, FIRST_ROOM_MICROSECONDS, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants in order");
    histogram.auto(true);
    histogram
}

/// Records a time in nanoseconds.
pub(crate) fn record_growing(histogram: &mut Histogram<u64>, ns: u64) {
    histogram
        .record(microseconds(ns).min(MICROSECONDS_MAX))
        .expect("it grows up to the bounds of all histograms");
}

pub(crate) fn serialize<S: Serializer>(
    histogram: &Histogram<u64>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    let written = V2Serializer::new().serialize(histogram, &mut bytes);
    written.map_err(|why| <S::Error as ser::Error>::custom(text(why)))?;
    bytes.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let bytes = Vec::<u8>::deserialize(from)?;
    hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut &bytes[..])
        .map_err(|why| de::Error::custom(text(why)))
}

fn text(why: impl Display) -> String {
    format!("a histogram: {why}")
}
