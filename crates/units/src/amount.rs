//! Parses a number with its dimension, if only its text shows the dimension.

use crate::parse::{SIZE_UNITS, TIME_UNITS, parse_number, parse_rate, parse_with_unit};

/// The dimension of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    Count,
    /// Seconds.
    Time,
    /// Events per second.
    Rate,
    /// Of 1.
    Share,
    /// Bytes.
    Size,
    /// Bytes per second.
    ByteRate,
}

/// A number and its dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    pub dimension: Dimension,
    pub value: f64,
}

/// `50`, `-1`, `10ms`, `100/s`, `150%`, `4MiB`, `10MiB/s`. A number with a unit is not negative.
#[must_use]
pub fn parse_amount(text: &str) -> Option<Amount> {
    let nanoseconds = |text| parse_with_unit(text, &TIME_UNITS);
    let bytes = |text| parse_with_unit(text, &SIZE_UNITS);
    let (dimension, value) = if let Some(percent) = text.strip_suffix('%') {
        (Dimension::Share, parse_number(percent)? / 100.0)
    } else if let Some(count) = parse_number(text) {
        (Dimension::Count, count)
    } else if let Some(count) = text.strip_prefix('-') {
        (Dimension::Count, -parse_number(count)?)
    } else if let Some(nanoseconds) = nanoseconds(text) {
        (Dimension::Time, nanoseconds / 1e9)
    } else if let Some(bytes) = bytes(text) {
        (Dimension::Size, bytes)
    } else if let Some(rate) = parse_rate(text) {
        (Dimension::Rate, rate)
    } else {
        (Dimension::ByteRate, bytes(text.strip_suffix("/s")?)?)
    };
    value.is_finite().then_some(Amount { dimension, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_says_what_is_counted() {
        let check = |text: &str, dimension, value: f64| {
            let amount = parse_amount(text).expect("a number");
            assert_eq!(amount.dimension, dimension, "{text}");
            assert!(
                (amount.value - value).abs() <= 1e-12 * value.abs(),
                "{text}"
            );
        };
        check("50", Dimension::Count, 50.0);
        check("0.5", Dimension::Count, 0.5);
        check("-1", Dimension::Count, -1.0);
        check("10 ms", Dimension::Time, 0.01);
        check("7µs", Dimension::Time, 7e-6);
        check("1000h", Dimension::Time, 3.6e6);
        check("100/s", Dimension::Rate, 100.0);
        check("90/m", Dimension::Rate, 1.5);
        check("150%", Dimension::Share, 1.5);
        check("4MiB", Dimension::Size, 4_194_304.0);
        check("1.5 kB", Dimension::Size, 1_500.0);
        check("10MiB/s", Dimension::ByteRate, 10_485_760.0);
    }

    /// Texts that the parsers of single dimensions refuse are refused here, too.
    #[test]
    fn others_are_not() {
        for text in [
            "", "-", "rest", "true", ".5s", "1.s", "1.", ".5", "1.2.3", "-1s", "--1", "1e3", "inf",
            "NaN", "10/d", "10MiB/m", "%", "/s", "4 mib", " 1",
        ] {
            assert_eq!(parse_amount(text), None, "{text}");
        }
        assert_eq!(parse_amount(&"9".repeat(400)), None);
    }
}
