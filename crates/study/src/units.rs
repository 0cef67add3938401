//! Numbers with units: durations, sizes, rates. Text in, number out.

use std::time::Duration;

/// Longest duration that is read: a week. Longer trials are a slip of the unit.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Units of time with their length in nanoseconds.
const TIME_UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Units of size with their length in bytes: kB = 1000, KiB = 1024.
const SIZE_UNITS: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];

/// `250ms`, `10s`, `1.5s`, `2m`, `1h`, at most `MAX_DURATION`; a bare `0` is zero. Exact to the nanosecond.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let nanoseconds = with_unit(text, &TIME_UNITS)?.round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a week of nanoseconds, not negative"
    )]
    let fits = (nanoseconds <= MAX_DURATION.as_nanos() as f64)
        .then(|| Duration::from_nanos(nanoseconds as u64));
    fits
}

/// `512B`, `10kB`, `4MiB` in bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    /// A size beyond a petabyte is a slip.
    const MAX_SIZE: f64 = 1e15;
    let bytes = with_unit(text, &SIZE_UNITS)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, at most 10^15"
    )]
    let fits = (bytes <= MAX_SIZE && bytes.fract() == 0.0).then_some(bytes as u64);
    fits
}

/// `1000/s`, `60/m`, or a bare number of events per second.
#[must_use]
pub fn rate_per_s(text: &str) -> Option<f64> {
    match text.split_once('/') {
        None => number(text),
        Some((count, "s")) => number(count),
        Some((count, "m")) => number(count).map(|count| count / 60.0),
        Some((count, "h")) => number(count).map(|count| count / 3600.0),
        Some(_) => None,
    }
}

/// `5%` or `0.05`, as a share of 1, at most 1.
#[must_use]
pub fn share(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    }
    .filter(|share| *share <= 1.0)
}

/// A duration as one would write it, for messages and levels.
#[must_use]
pub fn show(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let units = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    units
        .into_iter()
        .find(|(_, length)| nanoseconds.is_multiple_of(*length))
        .map_or_else(
            || format!("{nanoseconds}ns"),
            |(unit, length)| format!("{}{unit}", nanoseconds / length),
        )
}

/// A size as one would write it.
pub(crate) fn show_size(bytes: u64) -> String {
    let units = [
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1024),
        ("kB", 1000),
    ];
    let fits = |(_, length): &(&str, u64)| bytes > 0 && bytes.is_multiple_of(*length);
    units.into_iter().find(fits).map_or_else(
        || format!("{bytes}B"),
        |(unit, length)| format!("{}{unit}", bytes / length),
    )
}

/// A plain decimal number, not negative: digits with at most one point.
pub(crate) fn number(text: &str) -> Option<f64> {
    let digits = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let ends_well = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit());
    (digits && ends_well).then(|| text.parse().ok()).flatten()
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (digits, unit) = text.split_at(split);
    let length = units
        .iter()
        .find(|(name, _)| *name == unit.trim_start())
        .map(|(_, length)| *length)?;
    Some(number(digits)? * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                duration(text),
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
        let check = |text: &str, expected| assert_eq!(size(text), expected, "{text}");
        check("10kB", Some(10_000));
        check("4MiB", Some(4 << 20));
        check("1.5KiB", Some(1536));
        check("0B", Some(0));
        for wrong in ["10", "10K", "1.5B", "-1B", "9999999GB"] {
            check(wrong, None);
        }
    }

    #[test]
    fn rates() {
        let check = |text: &str, expected| assert_eq!(rate_per_s(text), expected, "{text}");
        check("1000/s", Some(1000.0));
        check("90/m", Some(1.5));
        check("0.5", Some(0.5));
        check("10/d", None);
        check("/s", None);
        check("NaN", None);
    }

    #[test]
    fn shares() {
        let check = |text: &str, expected| assert_eq!(share(text), expected, "{text}");
        check("5%", Some(0.05));
        check("0.05", Some(0.05));
        check("100%", Some(1.0));
        check("101%", None);
        check("2", None);
        check("%", None);
    }

    #[test]
    fn shown_values_read_back() {
        for text in ["0s", "250ms", "10s", "90s", "2m", "1h", "1500us", "17ns"] {
            let value = duration(text).expect("a duration");
            assert_eq!(duration(&show(value)), Some(value), "{text}");
        }
        for bytes in [
            0,
            7,
            1000,
            64_000,
            4096,
            4 << 20,
            5_000_000,
            3 << 30,
            2_000_000_000,
        ] {
            assert_eq!(size(&show_size(bytes)), Some(bytes));
        }
    }
}
