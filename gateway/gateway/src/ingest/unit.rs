//! Units of times in line protocol, as the versions of InfluxDB name them.

use waggle_record::{Mistake, Precision, TIME_MAX_NS, TIME_MIN_NS, line_protocol::Line};

/// The unit of the times in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Precision(Precision),
    Minutes,
    Hours,
    /// By the size of each time: seconds below 5·10⁹, milliseconds below 5·10¹², microseconds below 5·10¹⁵, else nanoseconds.
    Guessed,
}

impl Unit {
    /// The name in version 1: `n`, `ns`, `u`, `us`, `ms`, `s`, `m`, `h`.
    pub(crate) fn from_v1_name(name: &str) -> Option<Self> {
        match name {
            "m" => Some(Self::Minutes),
            "h" => Some(Self::Hours),
            _ => Precision::from_name(name).map(Self::Precision),
        }
    }

    /// The name in version 2: `ns`, `us`, `ms`, `s`.
    pub(crate) fn from_v2_name(name: &str) -> Option<Self> {
        let is_short = matches!(name, "n" | "u");
        let precision = Precision::from_name(name).filter(|_| !is_short);
        precision.map(Self::Precision)
    }

    /// The name in version 3.
    pub(crate) fn from_v3_name(name: &str) -> Option<Self> {
        let precision = match name {
            "auto" => return Some(Self::Guessed),
            "second" => Precision::Seconds,
            "millisecond" => Precision::Milliseconds,
            "microsecond" => Precision::Microseconds,
            "nanosecond" => Precision::Nanoseconds,
            _ => return None,
        };
        Some(Self::Precision(precision))
    }

    /// The time of a line in nanoseconds, if it has one.
    ///
    /// # Errors
    /// It is outside the times that a record can have.
    #[inline]
    pub(crate) fn time_ns(self, line: &Line<'_>) -> Result<Option<i64>, Mistake> {
        match self {
            Self::Precision(precision) => line.time_ns(precision),
            other => other.unusual_time_ns(line),
        }
    }

    fn unusual_time_ns(self, line: &Line<'_>) -> Result<Option<i64>, Mistake> {
        // As nanoseconds it is the number itself.
        let Some(number) = line.time_ns(Precision::Nanoseconds)? else {
            return Ok(None);
        };
        let (seconds, plural) = match self {
            Self::Minutes => (60, "minutes"),
            Self::Hours => (3600, "hours"),
            Self::Guessed | Self::Precision(_) => return line.time_ns(guess_precision(number)),
        };
        let time = number.checked_mul(seconds * 1_000_000_000);
        let time = time.filter(|time| (TIME_MIN_NS..=TIME_MAX_NS).contains(time));
        time.map(Some).ok_or_else(|| line.time_out_of_range(plural))
    }
}

/// The unit of a number that is a time of these decades.
fn guess_precision(number: i64) -> Precision {
    match number.unsigned_abs() / 1_000_000_000 {
        0..5 => Precision::Seconds,
        5..5_000 => Precision::Milliseconds,
        5_000..5_000_000 => Precision::Microseconds,
        _ => Precision::Nanoseconds,
    }
}

#[cfg(test)]
mod tests {
    use waggle_record::line_protocol::lines;

    use super::*;

    #[track_caller]
    fn check(unit: Unit, time: &str, expected: Option<i64>) {
        let text = format!("m f=1 {time}");
        let line = lines(text.as_bytes()).next().unwrap().unwrap();
        let time_ns = unit.time_ns(&line).ok().flatten();
        assert_eq!(time_ns, expected, "{unit:?} {time}");
    }

    #[test]
    fn times_are_in_the_unit_that_is_named() {
        let unit = |name: &str| Unit::from_v1_name(name).unwrap();
        check(unit("h"), "2", Some(7_200_000_000_000));
        check(unit("m"), "-2", Some(-120_000_000_000));
        check(unit("m"), "153722867", Some(9_223_372_020_000_000_000));
        check(unit("m"), "153722868", None);
        check(unit("h"), "9223372036854775806", None);
        check(unit("h"), "", None);
        check(unit("n"), "7", Some(7));
        check(unit("u"), "7", Some(7000));
        assert!(Unit::from_v2_name("n").is_none() && Unit::from_v2_name("m").is_none());
        assert_eq!(Unit::from_v2_name("us"), Unit::from_v1_name("us"));
        assert!(Unit::from_v3_name("ns").is_none());
    }

    #[test]
    fn a_mistake_is_at_the_time() {
        let text = "m f=1 1\n m f=\"a\nb\" 153722868";
        let line = lines(text.as_bytes()).nth(1).unwrap().unwrap();
        let mistake = Unit::Minutes.time_ns(&line).unwrap_err();
        assert_eq!((mistake.line, mistake.column), (3, 4));
        assert!(mistake.problem.ends_with("found 153722868 minutes"));
    }

    #[test]
    fn version_3_guesses_the_unit_of_each_time() {
        let second = 1_708_976_567_000_000_000;
        for time in [
            "1708976567",
            "1708976567000",
            "1708976567000000",
            "1708976567000000000",
        ] {
            check(Unit::Guessed, time, Some(second));
        }
        check(Unit::Guessed, "0", Some(0));
        check(Unit::Guessed, "4999999999", Some(4_999_999_999_000_000_000));
        check(Unit::Guessed, "5000000000", Some(5_000_000_000_000_000));
        check(Unit::Guessed, "-1708976567000", Some(-second));
        check(Unit::Guessed, "", None);
    }
}
