//! Numbers as a reader wants them in a sentence.

/// `12,300`.
#[must_use]
pub fn count(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits, grouped from 1,000 on: `12,300`, `63.9`, `0.00512`.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "unknown".into();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    if size >= 99.95 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; the cast saturates"
        )]
        let whole = size.round() as u64;
        format!("{sign}{}", count(whole))
    } else {
        let text = match size {
            size if size >= 9.995 => format!("{size:.1}"),
            size if size >= 0.9995 => format!("{size:.2}"),
            size => format!("{size:.3}"),
        };
        format!("{sign}{}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Microseconds in the unit that fits: `850 µs`, `5.2 ms`, `1.25 s`.
#[must_use]
pub fn time_us(us: f64) -> String {
    match us.abs() {
        size if size < 1e3 => format!("{} µs", number(us)),
        size if size < 1e6 => format!("{} ms", number(us / 1e3)),
        _ => format!("{} s", number(us / 1e6)),
    }
}

/// A share of 1: `27 %`, `3.5 %`, and finer just below the whole: `98.96 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = match percent.abs() {
        size if (98.5..100.0).contains(&size) => format!("{percent:.2}"),
        size if size >= 9.95 => return format!("{percent:.0} %"),
        _ => format!("{percent:.1}"),
    };
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let check = |found: String, expected: &str| assert_eq!(found, expected);
        check(count(0_u64), "0");
        check(count(999_u64), "999");
        check(count(1_000_u64), "1,000");
        check(count(u64::MAX), "18,446,744,073,709,551,615");
        check(number(12_345.6), "12,346");
        check(number(63.94), "63.9");
        check(number(24.0), "24");
        check(number(0.0), "0");
        check(number(5.2), "5.2");
        check(number(1.0), "1");
        check(number(0.0512), "0.051");
        check(number(-1_500.0), "−1,500");
        check(number(f64::NAN), "unknown");
        check(time_us(850.0), "850 µs");
        check(time_us(5_200.0), "5.2 ms");
        check(time_us(1_250_000.0), "1.25 s");
        check(percent(0.27), "27 %");
        check(percent(0.035), "3.5 %");
        check(percent(0.0), "0 %");
        check(percent(0.9896), "98.96 %");
        check(percent(0.99), "99 %");
        check(percent(1.0), "100 %");
        check(percent(12.0), "1200 %");
    }
}
