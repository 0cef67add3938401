//! Formats durations and sizes as text that parses to the same value.

use std::time::Duration;

/// A duration in the largest unit that divides it: `90s`, `2m`, `1500us`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
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

/// A size in bytes in the largest unit that divides it: `4MiB`, `64kB`.
#[must_use]
pub fn format_size(bytes: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_duration, parse_size};

    #[test]
    fn formatted_values_parse_to_the_same_value() {
        for text in ["0s", "250ms", "10s", "90s", "2m", "1h", "1500us", "17ns"] {
            let value = parse_duration(text).expect("a duration");
            assert_eq!(
                parse_duration(&format_duration(value)),
                Some(value),
                "{text}"
            );
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
            assert_eq!(parse_size(&format_size(bytes)), Some(bytes));
        }
    }
}
