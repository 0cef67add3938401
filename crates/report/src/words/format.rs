//! Formatting of numbers, by one rule: a measured value has three significant digits and a fitting unit; a share just below 100 % has
//! more, so that it differs from 100 %. Counts are whole, in groups of three. A setting is shown as it was set. Uncertainty has two
//! digits.
//!
//! The page's charts format numbers in the browser, by the same rule in `assets/page/numbers.js`; `tests/numbers.json` checks both.

use waggle_stats::Estimate;

/// A value of a metric.
#[must_use]
pub fn in_unit(value: f64, unit: waggle_metrics::Unit) -> String {
    use waggle_metrics::Unit;
    match unit {
        Unit::Count => amount(value),
        Unit::Share | Unit::Cpus => share(value),
        Unit::Rate => format!("{}/s", plain(value)),
        Unit::Time => time_us(value),
        Unit::Bytes => bytes(value),
        Unit::ByteRate => format!("{}/s", bytes(value)),
    }
}

/// The ends of an interval of a metric: `1.10 – 1.30 ms`.
#[must_use]
pub fn ends_in_unit((low, high): (f64, f64), unit: waggle_metrics::Unit) -> String {
    ends(low, high, |value| in_unit(value, unit))
}

/// A missing value, in every format.
pub const NONE: &str = "–";

/// The minus sign; lines break at a hyphen.
const MINUS: &str = "−";

/// A wider interval is shown by its ends, because "± 80 %" hides that it is asymmetric.
const PLUS_MINUS_AT_MOST: f64 = 0.5;

/// The unit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `12.3k`, per second or bare.
    Plain,
    /// Given in µs; shown in µs, ms, s or min.
    Time,
    /// Given in bytes; shown in binary multiples.
    Bytes,
}

impl Unit {
    /// One value with its unit.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Plain => plain(value),
            Self::Time => time_us(value),
            Self::Bytes => bytes(value),
        }
    }
}

/// From here on three digits lie before the point.
const WHOLE_FROM: f64 = 99.95;

/// Three significant digits, without trailing zeros behind the point being cut: `12.3`, `1.24`, `812`, `0`.
pub fn three_digits(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    let decimals = match size {
        s if s >= WHOLE_FROM => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.099_95 => 3,
        s if s >= 0.009_995 => 4,
        s if s >= 0.000_999_5 => 5,
        _ => return with_sign(value, &format!("{size:.2e}")),
    };
    with_sign(value, &format!("{size:.decimals$}"))
}

fn with_sign(value: f64, size: &str) -> String {
    let sign = if value < 0.0 { MINUS } else { "" };
    format!("{sign}{size}")
}

/// `812`, `12.3k`, `4.56M`.
#[must_use]
pub fn plain(value: f64) -> String {
    match value.abs() {
        s if s >= 999.5e6 => format!("{}G", three_digits(value / 1e9)),
        s if s >= 999.5e3 => format!("{}M", three_digits(value / 1e6)),
        s if s >= 999.5 => format!("{}k", three_digits(value / 1e3)),
        _ => three_digits(value),
    }
}

/// `812 µs`, `1.24 ms`, `1.03 s`, `2.5 min`.
#[must_use]
pub fn time_us(us: f64) -> String {
    match us.abs() {
        s if s >= 600e6 => format!("{} min", three_digits(us / 60e6)),
        s if s >= 999.5e3 => format!("{} s", three_digits(us / 1e6)),
        s if s >= 999.5 => format!("{} ms", three_digits(us / 1e3)),
        _ => format!("{} µs", three_digits(us)),
    }
}

/// A length of time as a person set it: `2 s`, `250 ms`.
pub fn set_time_s(seconds: f64) -> String {
    let shown = time_us(seconds * 1e6);
    match shown.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!(
                "{} {unit}",
                number.trim_end_matches('0').trim_end_matches('.')
            )
        }
        _ => shown,
    }
}

/// `512 B`, `12.3 MiB`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

/// A count in full, in groups of three: `1,234,567`.
#[must_use]
pub fn count(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: `1 cell`, `2 cells`.
#[must_use]
pub fn plural(number: impl TryInto<u128>, noun: &str) -> String {
    match number.try_into().unwrap_or(u128::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{} {noun}s", count(number)),
    }
}

/// A count, or one below zero.
pub(crate) fn signed_text(value: i128) -> String {
    let sign = if value < 0 { MINUS } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

/// A count that may be an estimate, or a number as a person set it: `3,250`, `12.5`.
#[must_use]
pub fn amount(value: f64) -> String {
    let is_whole = value.fract() == 0.0 || value.abs() >= WHOLE_FROM;
    if is_whole && value.abs() < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounded, and between -10^15 and 10^15"
        )]
        let whole = value.round_ties_even() as i128;
        signed_text(whole)
    } else {
        three_digits(value)
    }
}

/// A share as a person set it: `95 %`, `99.99 %`.
#[must_use]
pub fn set_share(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// A length of time in seconds: `250 ms`, `1.25 s`.
#[must_use]
pub fn time_s(seconds: f64) -> String {
    time_us(seconds * 1e6)
}

/// A share of 1 as `12.3 %`, and finer just below the whole: `98.96 %`; anything above nothing is never shown as nothing, anything below
/// the whole never as the whole.
#[must_use]
pub fn share(value: f64) -> String {
    match value * 100.0 {
        percent if percent > 0.0 && percent < 0.001 => "< 0.001 %".to_owned(),
        percent if (99.995..100.0).contains(&percent) => "> 99.99 %".to_owned(),
        percent if (98.5..100.0).contains(&percent) => format!("{percent:.2} %"),
        percent => format!("{} %", three_digits(percent)),
    }
}

/// A ratio as a factor of what it is compared with: `0.12×`, `2.5×`, `38×`.
pub fn times(ratio: f64) -> String {
    format!("{}×", factor(ratio))
}

/// `0.12× (0.10 – 0.15)`, or the point alone.
pub fn ratio(ratio: &Estimate) -> String {
    let range = ratio
        .interval
        .map(|ends| format!(" ({})", ratio_ends(ends)));
    format!("{}{}", times(ratio.point), range.unwrap_or_default())
}

/// The ends of a ratio's interval: `0.10 – 0.15`; `1.25 or more` and `1.25 or less` if the other end has no bound.
pub fn ratio_ends((low, high): (f64, f64)) -> String {
    match (low > 0.0, high.is_finite()) {
        (true, true) => format!("{} – {}", factor(low), factor(high)),
        (true, false) => format!("{} or more", factor(low)),
        (false, true) => format!("{} or less", factor(high)),
        (false, false) => "unknown".to_owned(),
    }
}

/// A difference of shares in points of a hundred: `28.0 points (25.1 – 30.9)`.
pub fn points(difference: &Estimate) -> String {
    let range = difference
        .interval
        .map(|ends| format!(" ({})", point_ends(ends)));
    format!(
        "{} points{}",
        three_digits(100.0 * difference.point),
        range.unwrap_or_default()
    )
}

/// The ends of its interval: `25.1 – 30.9`.
pub fn point_ends((low, high): (f64, f64)) -> String {
    format!(
        "{} – {}",
        three_digits(100.0 * low),
        three_digits(100.0 * high)
    )
}

/// Two decimals around 1, two digits for small values.
fn factor(ratio: f64) -> String {
    match ratio {
        r if r >= 99.5 => format!("{r:.0}"),
        r if r >= 9.95 => format!("{r:.1}"),
        r if r >= 0.0995 => format!("{r:.2}"),
        r if r >= 0.009_95 => format!("{r:.3}"),
        r if r >= 0.000_995 => format!("{r:.4}"),
        r if r > 0.0 => format!("{r:.1e}"),
        _ => "0".to_owned(),
    }
}

/// A number of which only the highest value is known: `≤ 108 ms`. `least`: the lowest, if it is much lower.
pub fn value_with_bound(shown: String, least: Option<f64>) -> String {
    match least {
        Some(_) => format!("≤ {shown}"),
        None => shown,
    }
}

/// `12.3k`, or `≤ 12.3k` if the value is known only to within a range.
pub fn point(estimate: &Estimate, unit: Unit) -> String {
    value_with_bound(unit.show(estimate.point), estimate.shown_least())
}

/// `12.3k ± 4 %`, or `12.3k (6.1k – 24k)` if the interval is wide, or the point alone; `≤ 108 ms (3.00 – 112 ms)` if the value is
/// known only to within a range.
pub fn short(estimate: Option<&Estimate>, unit: Unit) -> String {
    let Some(estimate) = estimate else {
        return NONE.to_owned();
    };
    let (Some((low, high)), None) = (estimate.interval, estimate.shown_least()) else {
        return long(Some(estimate), unit);
    };
    let point = unit.show(estimate.point);
    let spread = (high - estimate.point).max(estimate.point - low) / estimate.point.abs();
    if spread.is_finite() && spread <= PLUS_MINUS_AT_MOST {
        format!("{point} ± {} %", two_digits(spread * 100.0))
    } else {
        format!("{point} ({})", ends(low, high, |value| unit.show(value)))
    }
}

/// The interval's ends: `11.9k – 12.8k`; without an interval the lowest value if only a range is known, `≥ 3.00 ms`, or [`NONE`].
pub fn interval(estimate: &Estimate, unit: Unit) -> String {
    certainty(estimate, unit).unwrap_or_else(|| NONE.to_owned())
}

/// The same; `None` for [`NONE`].
pub fn certainty(estimate: &Estimate, unit: Unit) -> Option<String> {
    let show = |value: f64| unit.show(value);
    match (estimate.interval, estimate.shown_least()) {
        (Some((low, high)), None) => Some(ends(low, high, show)),
        (Some((low, high)), Some(_)) => Some(show_ends(low, high, show)),
        (None, least) => least.map(|least| format!("≥ {}", show(least))),
    }
}

/// `12.3k (11.9k – 12.8k)`, or the point alone.
pub fn long(estimate: Option<&Estimate>, unit: Unit) -> String {
    let Some(estimate) = estimate else {
        return NONE.to_owned();
    };
    let point = point(estimate, unit);
    match certainty(estimate, unit) {
        Some(ends) => format!("{point} ({ends})"),
        None => point,
    }
}

/// The ends of an interval in a sentence, by the same rule as in tables: `11.9k – 12.8k`.
pub(crate) fn ends_in_answer((low, high): (f64, f64), show: impl Fn(f64) -> String) -> String {
    ends(low, high, show)
}

/// If the ends are further apart, they show only that the trials are too few; the tables in CSV have them.
const ENDS_APART_AT_MOST: f64 = 1_000.0;

fn ends(low: f64, high: f64, show: impl Fn(f64) -> String) -> String {
    if low > 0.0 && high / low > ENDS_APART_AT_MOST {
        return "more than 1000-fold".to_owned();
    }
    show_ends(low, high, show)
}

fn show_ends(low: f64, high: f64, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(low), show(high));
    // If both ends have the same unit, it is written once.
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} – {high}"),
        _ => format!("{low} – {high}"),
    }
}

/// Two significant digits for a percentage of spread.
fn two_digits(percent: f64) -> String {
    match percent {
        p if p >= 9.95 => format!("{p:.0}"),
        p if p >= 0.95 => format!("{p:.1}"),
        p => format!("{p:.2}"),
    }
}

/// `connections=10 pipelining=50`, or `the only cell` without factors.
pub fn levels(levels: &[(String, String)]) -> String {
    if levels.is_empty() {
        return "the only cell".to_owned();
    }
    levels
        .iter()
        .map(|(factor, level)| format!("{factor}={level}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shown: &str, expected: &str) {
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_was_set_is_shown_as_it_was_set() {
        check(&set_time_s(2.0), "2 s");
        check(&set_time_s(0.25), "250 ms");
        check(&set_share(0.95), "95 %");
        check(&set_share(0.9999), "99.99 %");
        check(&amount(10_250.0), "10,250");
        check(&count(u64::MAX), "18,446,744,073,709,551,615");
        check(&three_digits(f64::NAN), NONE);
        let counts = [0, 1, 2, 1_000].map(|number| plural(number, "cell"));
        assert_eq!(counts, ["0 cells", "1 cell", "2 cells", "1,000 cells"]);
    }

    #[test]
    fn a_ratio_to_nothing_has_an_end_all_the_same() {
        check(&ratio_ends((0.5, 1.25)), "0.50 – 1.25");
        check(&ratio_ends((1.25, f64::INFINITY)), "1.25 or more");
        check(&ratio_ends((0.0, 1.25)), "1.25 or less");
    }

    #[test]
    fn an_interval_is_short_where_it_can_be() {
        let narrow = Estimate {
            point: 12_300.0,
            interval: Some((11_900.0, 12_800.0)),
            count: 3,
            least: None,
        };
        check(&short(Some(&narrow), Unit::Plain), "12.3k ± 4.1 %");
        check(&long(Some(&narrow), Unit::Plain), "12.3k (11.9k – 12.8k)");
        let wide = Estimate {
            point: 1_000.0,
            interval: Some((500.0, 2_000.0)),
            count: 3,
            least: None,
        };
        check(
            &short(Some(&wide), Unit::Time),
            "1.00 ms (500 µs – 2.00 ms)",
        );
        let slow = Estimate {
            point: 1_200.0,
            interval: Some((1_100.0, 1_300.0)),
            count: 3,
            least: None,
        };
        check(&long(Some(&slow), Unit::Time), "1.20 ms (1.10 – 1.30 ms)");
        let single = Estimate {
            point: 1_000.0,
            interval: None,
            count: 1,
            least: None,
        };
        check(&short(Some(&single), Unit::Time), "1.00 ms");
        // Two trials of which one was a hundred times the other.
        let unknown = Estimate {
            point: 1_000.0,
            interval: Some((1e-4, 3e15)),
            count: 2,
            least: None,
        };
        check(
            &long(Some(&unknown), Unit::Time),
            "1.00 ms (more than 1000-fold)",
        );
        check(&short(None, Unit::Time), "–");
    }

    #[test]
    fn a_value_that_is_known_to_within_a_range_is_shown_as_its_highest() {
        let ranged = |interval, least| Estimate {
            point: 108_000.0,
            interval,
            count: 3,
            least: Some(least),
        };
        let both = |estimate: &Estimate, expected: &str| {
            check(&short(Some(estimate), Unit::Time), expected);
            check(&long(Some(estimate), Unit::Time), expected);
        };
        let wide = ranged(Some((2_900.0, 112_000.0)), 3_000.0);
        both(&wide, "≤ 108 ms (2.90 – 112 ms)");
        // Not the scatter of the trials.
        let lowest = ranged(Some((1.0, 112_000.0)), 1.0);
        both(&lowest, "≤ 108 ms (1.00 µs – 112 ms)");
        both(&ranged(None, 3_000.0), "≤ 108 ms (≥ 3.00 ms)");
        // Less than a tenth is not worth a word.
        both(&ranged(None, 100_000.0), "108 ms");
        let narrow = ranged(Some((99_000.0, 112_000.0)), 100_000.0);
        check(&long(Some(&narrow), Unit::Time), "108 ms (99.0 – 112 ms)");
    }
}
