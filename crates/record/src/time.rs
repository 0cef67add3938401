//! The times of JSON and of tables: numbers since 1970, texts as in RFC 3339, and texts of a pattern.

use jiff::{
    civil,
    fmt::{strtime, temporal::DateTimeParser},
    tz::TimeZone,
};

use crate::{Precision, Problem, TIME_MAX_NS, TIME_MIN_NS, TimeColumn, TimeFormat};

/// A time zone: UTC by default.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Zone {
    /// The zone of a name of the machine's time zone database (`Europe/Berlin`), or of an offset (`+01:00`, `Z`).
    ///
    /// # Errors
    /// There is no such zone; the problem says what was expected.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text == "Z" {
            return Ok(Self::default());
        }
        DateTimeParser::new()
            .parse_time_zone(text)
            .map(Self)
            .map_err(|_| Problem(format!(
                    "expected a time zone of this machine's database, such as Europe/Berlin, or an offset such as +01:00, found {text:?}"
                )))
    }
}

/// Checks a pattern of times.
///
/// # Errors
/// The pattern has an unknown directive, or too few to be a time; the problem says which.
pub fn check_pattern(pattern: &str) -> Result<(), Problem> {
    let example = civil::date(2026, 11, 21)
        .at(8, 0, 0, 0)
        .to_zoned(TimeZone::UTC)
        .map_err(|error| Problem(error.to_string()))?;
    let unknown = |error| {
        Problem(format!(
            "expected a pattern such as {EXAMPLE_PATTERN}: {error}"
        ))
    };
    let text = strtime::format(pattern, &example).map_err(unknown)?;
    parse_pattern(&text, pattern, &Zone::default())
        .map(drop)
        .map_err(|_| Problem(format!(
                "expected a pattern with a date, such as {EXAMPLE_PATTERN}, or %s, found {pattern:?}"
            )))
}

const EXAMPLE_PATTERN: &str = "%d.%m.%Y %H:%M:%S";

/// The time in nanoseconds.
pub(crate) fn from_integer(digits: &str, precision: Precision) -> Result<i64, Problem> {
    let time = digits.parse().map_err(|_| {
        Problem(format!(
            "expected a time as an integer or like 2026-11-21T08:00:00Z, found {digits}"
        ))
    })?;
    precision
        .to_ns(time)
        .ok_or_else(|| out_of_range(&format!("{time} {}", precision.plural())))
}

/// The time in nanoseconds.
pub(crate) fn from_text(text: &str) -> Result<i64, Problem> {
    let wrong = |_| {
        Problem(format!(
            "expected a time like 2026-11-21T08:00:00Z, found {text:?}"
        ))
    };
    let time: jiff::Timestamp = text.parse().map_err(wrong)?;
    in_range(time, text)
}

/// The time of a column in nanoseconds; `precision` is that of integers without a format.
pub(crate) fn from_cell(
    text: &str,
    column: &TimeColumn,
    precision: Precision,
) -> Result<i64, Problem> {
    let text = text.trim_ascii();
    match &column.format {
        TimeFormat::Standard if is_integer(text) => from_integer(text, precision),
        TimeFormat::Standard => from_local_text(text, &column.zone),
        TimeFormat::Epoch(unit) => from_number(text, *unit),
        TimeFormat::Pattern(pattern) => parse_pattern(text, pattern, &column.zone)
            .map_err(|_| Problem(format!("expected a time like {pattern}, found {text:?}")))
            .and_then(|time| in_range(time, text)),
    }
}

/// A time as in RFC 3339, with a `T` or a space; without an offset it is one of the zone.
fn from_local_text(text: &str, zone: &Zone) -> Result<i64, Problem> {
    if let Ok(local) = text.parse::<civil::DateTime>()
        && text.parse::<jiff::Timestamp>().is_err()
        && text.contains(':')
        // A zone in brackets is not read.
        && !text.contains('[')
    {
        return local
            .to_zoned(zone.0.clone())
            .map_err(|_| out_of_range(text))
            .and_then(|time| in_range(time.timestamp(), text));
    }
    from_text(text)
}

/// A number since 1970 that may have a fraction. More than nine digits of a second are cut off.
fn from_number(text: &str, unit: Precision) -> Result<i64, Problem> {
    let wrong = || {
        Problem(format!(
            "expected a time in {}, found {text:?}",
            unit.plural()
        ))
    };
    if is_integer(text) {
        return from_integer(text, unit);
    }
    let (whole, fraction) = text.split_once('.').ok_or_else(wrong)?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_integer(whole) || !is_digits(fraction) {
        return Err(wrong());
    }
    let whole_ns = from_integer(whole, unit)?;
    let mut factor = unit.to_ns(1).unwrap_or(1);
    let mut fraction_ns = 0;
    for digit in fraction.bytes() {
        factor /= 10;
        fraction_ns += factor * i64::from(digit - b'0');
    }
    let sum = if whole.starts_with('-') {
        whole_ns.checked_sub(fraction_ns)
    } else {
        whole_ns.checked_add(fraction_ns)
    };
    sum.filter(|ns| (TIME_MIN_NS..=TIME_MAX_NS).contains(ns))
        .ok_or_else(|| out_of_range(text))
}

fn parse_pattern(text: &str, pattern: &str, zone: &Zone) -> Result<jiff::Timestamp, jiff::Error> {
    let parsed = strtime::parse(pattern, text).or_else(|problem| match text.rsplit_once(',') {
        // ISO 8601 has a comma or a point before a fraction of a second, jiff's patterns a point alone.
        Some((before, fraction)) if pattern.contains("%.") => {
            strtime::parse(pattern, format!("{before}.{fraction}"))
        }
        _ => Err(problem),
    })?;
    // Only with an offset, or with seconds since 1970, is it an instant by itself.
    parsed.to_timestamp().or_else(|_| {
        let local = parsed.to_datetime()?;
        Ok(local.to_zoned(zone.0.clone())?.timestamp())
    })
}

pub(crate) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn in_range(time: jiff::Timestamp, text: &str) -> Result<i64, Problem> {
    i64::try_from(time.as_nanosecond())
        .ok()
        .filter(|ns| (TIME_MIN_NS..=TIME_MAX_NS).contains(ns))
        .ok_or_else(|| out_of_range(text))
}

fn out_of_range(time: &str) -> Problem {
    Problem(format!(
        "expected a time between 1677-09-21 and 2262-04-11, found {time}"
    ))
}
