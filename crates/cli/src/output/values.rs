//! Formats of values on the screen.

use std::time::Duration;

use waggle_report::wording::format;

/// `45.2k/s`.
pub(crate) fn rate(per_s: f64) -> String {
    format!("{}/s", format::plain(per_s))
}

/// `820 µs`, `12.4 ms`.
pub(crate) fn microseconds(us: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    format::time_us(us as f64)
}

/// `3.3 s`, `12 s`, `2 min 5 s`, `1 h 2 min`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = duration.as_secs();
    match whole {
        _ if duration.is_zero() => "0 s".to_owned(),
        _ if seconds < 10.0 && duration.subsec_millis() > 0 => format!("{seconds:.1} s"),
        0..10 => format!("{whole} s"),
        10..100 => format!("{seconds:.0} s"),
        100..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        let check = |seconds, expected: &str| {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), expected)
        };
        check(0.0, "0 s");
        check(3.0, "3 s");
        check(3.26, "3.3 s");
        check(12.4, "12 s");
        check(125.0, "2 min 5 s");
        check(3725.0, "1 h 2 min");
    }
}
