//! Numbers with as many digits as can be seen: the others would double the file.

use waggle_stats::Estimate;

/// Digits behind the point of seconds, rates and times in µs.
pub(super) const DIGITS: i32 = 3;
/// Digits of ratios and shares: enough for a share of a millionth.
pub(super) const RATIO_DIGITS: i32 = 6;

pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

/// `[point]`, or `[point, low, high]`.
pub(super) fn estimate(estimate: &Estimate, digits: i32) -> Vec<f64> {
    let ends = estimate.interval.map(|(low, high)| [low, high]);
    [estimate.point]
        .into_iter()
        .chain(ends.into_iter().flatten())
        .map(|value| rounded(value, digits))
        .collect()
}

/// A point with the ends of its interval.
pub(super) fn ends(estimate: Option<&Estimate>) -> [Option<f64>; 3] {
    let (low, high) = estimate.and_then(|estimate| estimate.interval).unzip();
    let point = estimate.map(|estimate| estimate.point);
    [point, low, high].map(|value| value.map(|value| rounded(value, RATIO_DIGITS)))
}

/// A line as points of (seconds, number).
pub(super) fn line(points: &[(f64, f64)]) -> Vec<[f64; 2]> {
    points
        .iter()
        .map(|(at, value)| [rounded(*at, DIGITS), rounded(*value, DIGITS)])
        .collect()
}
