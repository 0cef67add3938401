//! Numbers with as many digits as can be seen: the others would double the file.

use waggle_stats::Estimate;

/// Significant digits of what is measured: the page shows three of them, just below a whole four.
const DIGITS: i32 = 6;

/// Powers of ten up to this one are exact.
const EXACT_POWERS: i32 = 22;

/// A number with six digits that count, however small it is.
pub(crate) fn round_to(value: f64) -> f64 {
    significant(value, DIGITS)
}

/// A number with so many digits that count.
pub(crate) fn significant(value: f64, digits: i32) -> f64 {
    // Whole numbers are short already.
    if value.fract() == 0.0 || !value.is_finite() {
        return value;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the logarithm of a finite number that is not 0 lies between -324 and 309"
    )]
    let behind_point = digits - 1 - value.abs().log10().floor() as i32;
    // A smaller value is shown as zero.
    let scale = 10f64.powi(behind_point.clamp(0, EXACT_POWERS));
    (value * scale).round() / scale
}

/// An instant along the axis of time: to the millisecond, however late it is.
pub(crate) fn instant(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// `[point]`, or `[point, low, high]` with the ends of its interval or of its range.
pub(crate) fn estimate(estimate: &Estimate) -> Vec<f64> {
    let is_known_to_a_point = estimate.interval.is_none() && estimate.least.is_none();
    let (low, high) = estimate.ends();
    let ends = (!is_known_to_a_point).then_some([low, high]);
    [estimate.point]
        .into_iter()
        .chain(ends.into_iter().flatten())
        .map(round_to)
        .collect()
}

/// A point with the ends of its interval.
pub(crate) fn ends(estimate: Option<&Estimate>) -> [Option<f64>; 3] {
    let (low, high) = estimate.and_then(|estimate| estimate.interval).unzip();
    let point = estimate.map(|estimate| estimate.point);
    [point, low, high].map(|value| value.map(round_to))
}

#[cfg(test)]
mod tests {
    use super::{instant, round_to};

    #[test]
    fn no_number_becomes_nothing() {
        let check = |value: f64, expected: f64| {
            assert_eq!(round_to(value).to_string(), expected.to_string());
        };
        check(0.0, 0.0);
        check(0.000_03, 0.000_03);
        check(0.000_031_234_567, 0.000_031_234_6);
        check(-1.234_567_89, -1.234_57);
        check(55_123.456_7, 55_123.5);
        check(12_345_678.0, 12_345_678.0);
        check(f64::INFINITY, f64::INFINITY);
        assert_eq!(instant(12_345.678_9).to_string(), "12345.679");
    }
}
