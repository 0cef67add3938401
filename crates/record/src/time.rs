//! The times of JSON and CSV: an integer of the given precision, or a text as in RFC 3339.

use crate::{Precision, TIME_MAX_NS, TIME_MIN_NS};

/// The time in nanoseconds; `Err` says what is wrong with it.
pub(crate) fn from_integer(digits: &str, precision: Precision) -> Result<i64, String> {
    let time = digits.parse().map_err(|_| {
        format!("expected a time as an integer or like 2026-11-21T08:00:00Z, found {digits}")
    })?;
    precision
        .to_ns(time)
        .ok_or_else(|| out_of_range(&format!("{time} {}", precision.plural())))
}

/// The time in nanoseconds; `Err` says what is wrong with it.
pub(crate) fn from_text(text: &str) -> Result<i64, String> {
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|_| format!("expected a time like 2026-11-21T08:00:00Z, found {text:?}"))?;
    i64::try_from(time.as_nanosecond())
        .ok()
        .filter(|ns| (TIME_MIN_NS..=TIME_MAX_NS).contains(ns))
        .ok_or_else(|| out_of_range(text))
}

fn out_of_range(found: &str) -> String {
    format!("expected a time between 1677-09-21 and 2262-04-11, found {found}")
}
