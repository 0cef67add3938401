//! The format of the times of a column, from its texts.

use crate::{Precision, TimeColumn, TimeFormat, Zone, time};

/// Patterns that loggers and spreadsheets write, more frequent ones first. Day and month can be mistaken for each other.
const PATTERNS: [&str; 27] = [
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%d.%m.%y %H:%M:%S",
    "%d.%m.%y %H:%M",
    "%m/%d/%y %I:%M:%S %p",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%d/%m/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M:%S%.f",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%d-%m-%Y %H:%M:%S%.f",
    "%m-%d-%Y %H:%M:%S%.f",
    "%d-%b-%Y %H:%M:%S",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y%m%d%H%M%S",
    "%Y%m%d%H%M",
    "%Y%m%d%H",
    "%d %b %Y %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S %z",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%G-W%V-%u",
    "%G-W%V-%uT%H:%M:%S",
];
/// Patterns of a date whose time of day is in another column.
const DATES: [&str; 8] = [
    "%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d",
];
/// Patterns of a time of day.
const TIMES_OF_DAY: [&str; 4] = ["%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"];

/// The earliest and latest seconds since 1970 that an integer is taken for a time: from 1990 to 2100.
const PLAUSIBLE_S: std::ops::Range<i64> = 631_152_000..4_102_444_800;
const UNITS: [Precision; 4] = [
    Precision::Seconds,
    Precision::Milliseconds,
    Precision::Microseconds,
    Precision::Nanoseconds,
];

/// The formats that read every one of the texts, the likeliest first; none if there are no texts.
pub(super) fn formats(texts: &[&str]) -> Vec<TimeFormat> {
    if texts.is_empty() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    if texts.iter().any(|text| !is_number(text)) && reads(texts, &TimeFormat::Standard) {
        candidates.push(TimeFormat::Standard);
    }
    candidates.extend(patterns(texts, &PATTERNS));
    if candidates.is_empty() {
        candidates.extend(UNITS.map(TimeFormat::Epoch).into_iter().filter(|format| {
            texts.iter().all(|text| {
                nanoseconds(text, format)
                    .is_some_and(|ns| PLAUSIBLE_S.contains(&(ns / 1_000_000_000)))
            })
        }));
    }
    candidates
}

/// Whether the texts are times, dates or times of day.
pub(super) fn are_times(texts: &[&str]) -> bool {
    !formats(texts).is_empty() || !dates(texts).is_empty() || time_of_day(texts).is_some()
}

/// The patterns of dates that read every one of the texts.
pub(super) fn dates(texts: &[&str]) -> Vec<&'static str> {
    let dated: Vec<String> = texts.iter().map(|text| format!("{text} 00:00")).collect();
    let dated: Vec<&str> = dated.iter().map(String::as_str).collect();
    let reads = |pattern: &&str| {
        let whole = TimeFormat::Pattern(format!("{pattern} %H:%M"));
        !texts.is_empty() && self::reads(&dated, &whole)
    };
    DATES.into_iter().filter(reads).collect()
}

/// The pattern of times of day that reads every one of the texts.
pub(super) fn time_of_day(texts: &[&str]) -> Option<&'static str> {
    let dated: Vec<String> = texts
        .iter()
        .map(|text| format!("2026-11-21 {text}"))
        .collect();
    let dated: Vec<&str> = dated.iter().map(String::as_str).collect();
    TIMES_OF_DAY.into_iter().find(|pattern| {
        let whole = TimeFormat::Pattern(format!("%Y-%m-%d {pattern}"));
        !texts.is_empty() && reads(&dated, &whole)
    })
}

fn patterns(texts: &[&str], known: &[&str]) -> Vec<TimeFormat> {
    let formats = known
        .iter()
        .map(|pattern| TimeFormat::Pattern((*pattern).to_owned()));
    formats.filter(|format| reads(texts, format)).collect()
}

fn reads(texts: &[&str], format: &TimeFormat) -> bool {
    texts.iter().all(|text| {
        nanoseconds(text, format).is_some_and(|ns| {
            // A year of two digits in a pattern with four is the first century.
            *format == TimeFormat::Standard || PLAUSIBLE_S.contains(&(ns / 1_000_000_000))
        })
    })
}

fn nanoseconds(text: &str, format: &TimeFormat) -> Option<i64> {
    let column = TimeColumn {
        columns: Vec::new(),
        format: format.clone(),
        zone: Zone::default(),
    };
    time::from_cell(text, &column, Precision::default()).ok()
}

/// Whether a text looks like an instant, whatever its pattern: a date, or a week, with four digits of a year or a time of day.
pub(super) fn is_likely(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let has = |part: &str| shape.contains(part);
    let has_date = [
        "0000-00-00",
        "0000/00/00",
        "00.00.0000",
        "00/00/0000",
        "0000-W00",
    ]
    .into_iter()
    .any(has);
    let has_month = text
        .split([' ', '-', ','])
        .any(|word| MONTHS.contains(&word));
    let is_ordinal = shape == "0000-000" || shape.starts_with("0000-000T");
    has_date || is_ordinal || (has_month && has("00:00"))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// The option with which a time that was not read is read.
pub(crate) fn remedy(text: &str, column: &TimeColumn) -> String {
    if text.is_empty() {
        return "skip_after_header leaves out lines after the header row that are no rows, such as units"
            .to_owned();
    }
    match formats(&[text]).into_iter().next() {
        Some(TimeFormat::Pattern(pattern)) => {
            format!("time.format: {pattern:?} reads such times")
        }
        Some(TimeFormat::Epoch(unit)) if column.format != TimeFormat::Epoch(unit) => {
            format!("time.format: {} reads such times", unit.name())
        }
        _ => "time.format is the pattern of the times, such as \"%d.%m.%Y %H:%M:%S\"".to_owned(),
    }
}
