//! Histograms of times: their bounds, and their form in messages: the V2 format of HdrHistogram, which keeps every count.

use std::fmt::Display;

use hdrhistogram::{
    Histogram,
    serialization::{Serializer as _, V2Serializer},
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de,
    ser::{self, SerializeSeq},
};
use waggle_spec::{TimeSource, Times};

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

/// Empty histograms of all times. Those that few loads have are small at first.
#[must_use]
pub fn empty_times() -> Times<Histogram<u64>> {
    Times::from_fn(|kind| match kind.source() {
        TimeSource::Requests | TimeSource::Connections => histogram(),
        TimeSource::InspectedAnswers | TimeSource::Sessions => growing_histogram(),
    })
}

pub(crate) fn clear_times<const N: usize>(times: &mut Times<Histogram<u64>, N>) {
    for (_, histogram) in times.iter_mut() {
        // Most loads lack some times, and a reset writes every count.
        if !histogram.is_empty() {
            histogram.reset();
        }
    }
}

/// Adds times of the same load.
///
/// # Panics
/// If a histogram has other bounds than those of the engine.
pub fn add_times<const N: usize>(
    sum: &mut Times<Histogram<u64>, N>,
    part: &Times<Histogram<u64>, N>,
) {
    for (sum, part) in sum.zip_mut(part) {
        add(sum, part);
    }
}

/// Adds times of one kind. Most loads lack some kinds, and an addition reads every count.
pub(crate) fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    if part.is_empty() {
        return;
    }
    sum.add(part)
        .expect("all histograms have the same bounds, or grow up to them");
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
    let read = hdrhistogram::serialization::Deserializer::new().deserialize(&mut &bytes[..]);
    let whole: Histogram<u64> = read.map_err(|why| de::Error::custom(text(why)))?;
    let is_of_engine = (whole.low(), whole.sigfig()) == (1, SIGNIFICANT_DIGITS);
    if !is_of_engine || whole.high() > MICROSECONDS_MAX {
        return Err(de::Error::custom("a histogram with other bounds"));
    }
    // With room up to its highest value alone: those of a thousand generators wait for one another.
    let mut part = growing_histogram();
    add(&mut part, &whole);
    Ok(part)
}

/// The form of several times in messages: a list in their order.
pub(crate) mod of_times {
    use super::*;

    struct Bytes<'a>(&'a Histogram<u64>);

    impl Serialize for Bytes<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            super::serialize(self.0, to)
        }
    }

    #[derive(Deserialize)]
    struct Owned(#[serde(deserialize_with = "super::deserialize")] Histogram<u64>);

    pub(crate) fn serialize<S: Serializer, const N: usize>(
        times: &Times<Histogram<u64>, N>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(N))?;
        for (_, histogram) in times.iter() {
            list.serialize_element(&Bytes(histogram))?;
        }
        list.end()
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        from: D,
    ) -> Result<Times<Histogram<u64>, N>, D::Error> {
        let all = Vec::<Owned>::deserialize(from)?;
        let count = all.len();
        let all: [Owned; N] = all
            .try_into()
            .map_err(|_| de::Error::custom(format!("{count} times; expected {N}")))?;
        Ok(all.map(|Owned(histogram)| histogram).into())
    }
}

fn text(why: impl Display) -> String {
    format!("a histogram: {why}")
}
