//! How a number stands in a table of CSV.

/// Significant digits of what is no whole number: what a double has beyond them is noise of the arithmetic.
const DIGITS: usize = 9;

/// From here on nothing behind the point is one of them.
const WHOLE_FROM: f64 = 1e9;

/// Smaller than this a number is written with its power of ten.
const PLAIN_FROM: f64 = 1e-6;

/// In full: whole numbers with all of their digits, others with nine that count, however small they are.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= WHOLE_FROM || value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let shown = format!("{value:.*e}", DIGITS - 1);
    match shown.parse::<f64>() {
        Ok(short) if short.abs() < PLAIN_FROM => format!("{short:e}"),
        Ok(short) => short.to_string(),
        Err(_) => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_number_keeps_the_digits_that_count() {
        let check = |value: f64, expected: &str| assert_eq!(number(value), expected);
        check(0.0, "0");
        check(-0.0, "0");
        check(3.0, "3");
        check(0.1 + 0.2, "0.3");
        check(2.0 / 3.0, "0.666666667");
        check(-2.0 / 3.0, "-0.666666667");
        check(12_345.678_901_234, "12345.6789");
        // 3 of 10,000,000.
        check(3.0 / 10_000_000.0, "3e-7");
        check(0.000_001_25, "0.00000125");
        check(1.0 / 3e20, "3.33333333e-21");
        // A count has every digit, and so has what lies before the point.
        check(18_014_398_509_481_984.0, "18014398509481984");
        check(10_000_000_123.4, "10000000123");
        check(f64::INFINITY, "inf");
    }
}
