//! Parses durations, sizes, rates and shares.

use std::time::Duration;

use crate::format_duration;

/// The longest duration of a study: a week. A longer one is a mistake in the unit.
pub const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// Units of time with their length in nanoseconds.
pub(crate) const TIME_UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Units of size with their length in bytes: kB = 1000, KiB = 1024.
pub(crate) const SIZE_UNITS: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];

/// Why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("expected a number with its unit (ns, us, ms, s, m, h)")]
    Syntax,
    #[error("expected {} at most", format_duration(*max))]
    TooLong { max: Duration },
}

/// `250ms`, `10s`, `1.5s`, `2m`, `1h`, at most [`DURATION_MAX`]; a bare `0` is zero. Rounded to the nanosecond.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    parse_duration_up_to(text, DURATION_MAX).ok()
}

/// As [`parse_duration`], with another maximum, at most a century.
///
/// # Errors
/// If the text is not a duration, or above the maximum.
pub fn parse_duration_up_to(text: &str, max: Duration) -> Result<Duration, DurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let nanoseconds = parse_with_unit(text, &TIME_UNITS)
        .ok_or(DurationError::Syntax)?
        .round();
    if nanoseconds > max.as_nanos() as f64 {
        return Err(DurationError::TooLong { max });
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a century of nanoseconds, not negative"
    )]
    let nanoseconds = nanoseconds as u64;
    Ok(Duration::from_nanos(nanoseconds))
}

/// `512B`, `10kB`, `4MiB` in bytes.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let bytes = parse_bytes(text)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, at most 10^15"
    )]
    let fits = (bytes.fract() == 0.0).then_some(bytes as u64);
    fits
}

/// A size as [`parse_size`] reads it, or a mean of sizes, which need not be whole: `90.5B`.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<f64> {
    /// A size above a petabyte is a mistake.
    const MAX_SIZE: f64 = 1e15;
    parse_with_unit(text, &SIZE_UNITS).filter(|bytes| *bytes <= MAX_SIZE)
}

/// `10MiB/s`, in bytes per second.
#[must_use]
pub fn parse_byte_rate(text: &str) -> Option<f64> {
    parse_bytes(text.strip_suffix("/s")?)
}

/// `1000/s`, `60/m`, or a bare number of events per second.
#[must_use]
pub fn parse_rate(text: &str) -> Option<f64> {
    match text.split_once('/') {
        None => parse_number(text),
        Some((count, "s")) => parse_number(count),
        Some((count, "m")) => parse_number(count).map(|count| count / 60.0),
        Some((count, "h")) => parse_number(count).map(|count| count / 3600.0),
        Some(_) => None,
    }
}

/// `5%` or `0.05`, as a share of 1, at most 1.
#[must_use]
pub fn parse_share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => parse_number(percent).map(|percent| percent / 100.0),
        None => parse_number(text),
    }
    .filter(|share| *share <= 1.0)
}

/// A plain decimal number, not negative: digits with at most one point.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let digits = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let ends_well = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit());
    (digits && ends_well).then(|| text.parse().ok()).flatten()
}

pub(crate) fn parse_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (digits, unit) = text.split_at(split);
    let length = units
        .iter()
        .find(|(name, _)| *name == unit.trim_start())
        .map(|(_, length)| *length)?;
    Some(parse_number(digits)? * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                parse_duration(text),
                expected.map(Duration::from_micros),
                "{text}"
            );
        };
        check("250ms", Some(250_000));
        check("1.5s", Some(1_500_000));
        check("2m", Some(120_000_000));
        check("1h", Some(3_600_000_000));
        check("7us", Some(7));
        check("7µs", Some(7));
        check("0", Some(0));
        check("0s", Some(0));
        check("10 s", Some(10_000_000));
        check("168h", Some(604_800_000_000));
        check("169h", None);
        for wrong in [
            "10",
            "",
            "s",
            "-1s",
            "1e3s",
            "1.s",
            ".5s",
            "1.2.3s",
            "10sec",
            "99999999999999999999h",
            "1s2",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn sizes() {
        let check = |text: &str, expected| assert_eq!(parse_size(text), expected, "{text}");
        check("10kB", Some(10_000));
        check("4MiB", Some(4 << 20));
        check("1.5KiB", Some(1536));
        check("0B", Some(0));
        for wrong in ["10", "10K", "1.5B", "-1B", "9999999GB"] {
            check(wrong, None);
        }
    }

    #[test]
    fn bytes_and_byte_rates() {
        assert_eq!(parse_bytes("90.5B"), Some(90.5));
        assert_eq!(parse_bytes("90.5"), None);
        assert_eq!(parse_bytes("9999999GB"), None);
        assert_eq!(parse_byte_rate("1.5KiB/s"), Some(1536.0));
        assert_eq!(parse_byte_rate("10 MB/s"), Some(10e6));
        for wrong in ["10/s", "10MB", "10MB/m", "/s"] {
            assert_eq!(parse_byte_rate(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rates() {
        let check = |text: &str, expected| assert_eq!(parse_rate(text), expected, "{text}");
        check("1000/s", Some(1000.0));
        check("90/m", Some(1.5));
        check("0.5", Some(0.5));
        check("10/d", None);
        check("/s", None);
        check("NaN", None);
    }

    #[test]
    fn shares() {
        let check = |text: &str, expected| assert_eq!(parse_share(text), expected, "{text}");
        check("5%", Some(0.05));
        check("0.05", Some(0.05));
        check("100%", Some(1.0));
        check("101%", None);
        check("2", None);
        check("%", None);
    }

    #[test]
    fn a_duration_over_its_maximum_is_not_a_slip_of_syntax() {
        let year = Duration::from_secs(366 * 24 * 3600);
        let check = |text: &str, expected| {
            assert_eq!(parse_duration_up_to(text, year), expected, "{text}");
        };
        check("8760h", Ok(Duration::from_secs(8760 * 3600)));
        check("8785h", Err(DurationError::TooLong { max: year }));
        check("1 year", Err(DurationError::Syntax));
    }
}
