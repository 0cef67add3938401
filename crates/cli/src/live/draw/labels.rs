//! Short formats of values.

use waggle_report::wording::format;

use crate::trial::aggregate::as_f64;

/// `820 µs`, or `–` if there is none.
pub(super) fn time(us: Option<u64>) -> String {
    us.map_or_else(|| "–".to_owned(), |us| format::time_us(as_f64(us)))
}

/// `50µs`, `2ms`, `10s`: the label of a tick, which is 1, 2 or 5 times a power of ten.
pub(super) fn mark(us: f64) -> String {
    match us {
        us if us >= 999_999.0 => format!("{:.0}s", us / 1e6),
        us if us >= 999.0 => format!("{:.0}ms", us / 1e3),
        us => format!("{us:.0}µs"),
    }
}

/// `3.4 s`, `2:05`, `1:02:03`: a running time of stable width.
pub(super) fn clock(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{:.1} s", seconds.max(0.0));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive time in seconds; rounds down on purpose"
    )]
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let check = |text: String, expected: &str| assert_eq!(text, expected);
        check(mark(50.0), "50µs");
        check(mark(1_000.0), "1ms");
        check(mark(5e6), "5s");
        check(clock(3.44), "3.4 s");
        check(clock(125.9), "2:05");
        check(clock(3_723.0), "1:02:03");
        check(time(None), "–");
        check(time(Some(820)), "820 µs");
    }
}
