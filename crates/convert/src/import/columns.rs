//! CSV files of any tool: which column is what, by `--column`, and the requests of such a file.

use std::io::BufRead;

use anyhow::{Result, bail};
use jiff::Timestamp;
use waggle_results::FailureKind;

use super::{
    request::{FileFacts, Request, Visit, label_of, status_failure},
    text::{Lines, Rows, show_text},
};

/// Later times are no times: the year 5000 or so.
const TIME_MAX_US: f64 = 1e17;
const DURATION_MAX_US: f64 = 30.0 * 24.0 * 3.6e9;
const EXPECTED: &str = "expected start=NAME[:UNIT], end=NAME[:UNIT], duration=NAME:UNIT, success=NAME, status=NAME, label=NAME, \
                        sent=NAME or received=NAME";
const EXPECTED_SUCCESS: &str = "true or false (1 or 0, yes or no, ok or ko)";

/// The unit of a column of times.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TimeUnit {
    /// In µs.
    Number(f64),
    Rfc3339,
}

/// When a request was sent, or answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instant {
    Start,
    End,
}

/// Which column is what, by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mapping {
    instant: (Instant, String, TimeUnit),
    duration: (String, f64),
    success: Option<String>,
    status: Option<String>,
    label: Option<String>,
    sent: Option<String>,
    received: Option<String>,
}

/// Which column is what, by place.
struct Places {
    instant: usize,
    duration: usize,
    success: Option<usize>,
    status: Option<usize>,
    label: Option<usize>,
    sent: Option<usize>,
    received: Option<usize>,
}

impl Mapping {
    /// Of the values of `--column`.
    pub(crate) fn parse(columns: &[String], all_succeeded: bool) -> Result<Self> {
        let (mut instants, mut duration) = (Vec::new(), None);
        let (mut success, mut status, mut label) = (None, None, None);
        let (mut sent, mut received) = (None, None);
        for column in columns {
            let Some((what, name)) = column.split_once('=') else {
                bail!("--column {column}: {EXPECTED}");
            };
            let slot = match what {
                "start" => {
                    instants.push((Instant::Start, name));
                    continue;
                }
                "end" => {
                    instants.push((Instant::End, name));
                    continue;
                }
                "duration" => &mut duration,
                "success" => &mut success,
                "status" => &mut status,
                "label" => &mut label,
                "sent" => &mut sent,
                "received" => &mut received,
                _ => bail!("--column {column}: {EXPECTED}"),
            };
            if slot.replace(name.to_owned()).is_some() {
                bail!("--column {what} is given twice");
            }
        }
        let [(instant, name)] = instants[..] else {
            bail!("csv requires one --column start=NAME[:UNIT] or end=NAME[:UNIT]");
        };
        let Some(duration) = duration else {
            bail!("csv requires --column duration=NAME:UNIT");
        };
        if success.is_none() && status.is_none() && !all_succeeded {
            bail!(
                "csv requires --column success=NAME or status=NAME; if no request of the file failed, --all-succeeded"
            );
        }
        let (name, unit) = split_unit(name);
        let (duration, Some(duration_unit)) = split_unit(&duration) else {
            bail!(
                "--column duration={duration}: expected a unit: duration={duration}:ms (or s, us, ns)"
            );
        };
        Ok(Self {
            instant: (
                instant,
                name.to_owned(),
                unit.map_or(TimeUnit::Rfc3339, TimeUnit::Number),
            ),
            duration: (duration.to_owned(), duration_unit),
            success,
            status,
            label,
            sent,
            received,
        })
    }

    fn find<R: BufRead>(&self, rows: &Rows<R>, header: &[String]) -> Result<Places> {
        let find = |name: &String| column_index(rows, header, name);
        let optional = |name: &Option<String>| name.as_ref().map(find).transpose();
        Ok(Places {
            instant: find(&self.instant.1)?,
            duration: find(&self.duration.0)?,
            success: optional(&self.success)?,
            status: optional(&self.status)?,
            label: optional(&self.label)?,
            sent: optional(&self.sent)?,
            received: optional(&self.received)?,
        })
    }
}

fn column_index<R: BufRead>(rows: &Rows<R>, header: &[String], name: &str) -> Result<usize> {
    if let Some(index) = header.iter().position(|column| column == name) {
        return Ok(index);
    }
    let names: Vec<String> = header.iter().map(|column| show_text(column)).collect();
    let problem = format!(
        "expected a column {}, found {}",
        show_text(name),
        names.join(", ")
    );
    Err(rows.mistake(0, &problem))
}

/// A name and its unit in µs.
fn split_unit(text: &str) -> (&str, Option<f64>) {
    let Some((name, unit)) = text.rsplit_once(':') else {
        return (text, None);
    };
    match unit {
        "s" => (name, Some(1e6)),
        "ms" => (name, Some(1e3)),
        "us" => (name, Some(1.0)),
        "ns" => (name, Some(1e-3)),
        _ => (text, None),
    }
}

/// The delimiter of a file: of comma, semicolon, tab and vertical bar the one that its first row has most of.
pub(super) fn delimiter(first: &str) -> char {
    let count = |delimiter: char| first.matches(delimiter).count();
    let all = [',', ';', '\t', '|'];
    all.into_iter()
        .rev()
        .max_by_key(|candidate| count(*candidate))
        .unwrap_or(',')
}

/// `first`: the first line of the file.
pub(crate) fn read<R: BufRead>(
    lines: Lines<R>,
    first: &str,
    mapping: &Mapping,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let name = lines.name.clone();
    let mut rows = Rows::new(lines, delimiter(first));
    let header = rows.header("a header row")?;
    let places = mapping.find(&rows, &header)?;
    let (mut requests, mut decimals) = (0u64, 0);
    while rows.next_row()? {
        requests += 1;
        decimals = decimals.max(decimals_of(rows.cell(places.duration)));
        visit(&request(&rows, mapping, &places)?)?;
    }
    if requests == 0 {
        bail!("{name} has no rows");
    }
    let finest = mapping.duration.1 / 10f64.powi(decimals);
    Ok(FileFacts {
        has_bytes_sent: places.sent.is_some(),
        has_bytes_received: places.received.is_some(),
        resolution_us: finest.max(1.0),
        ..FileFacts::default()
    })
}

fn decimals_of(number: &str) -> i32 {
    let decimals = number
        .trim()
        .split_once('.')
        .map_or(0, |(_, after)| after.len());
    i32::try_from(decimals.min(9)).unwrap_or(9)
}

fn request<'a, R: BufRead>(
    rows: &'a Rows<R>,
    mapping: &Mapping,
    places: &Places,
) -> Result<Request<'a>> {
    let (instant, _, unit) = &mapping.instant;
    let at_us = match unit {
        TimeUnit::Rfc3339 => rfc3339(rows, places.instant)?,
        TimeUnit::Number(unit) => number(rows, places.instant, (*unit, TIME_MAX_US))?,
    };
    let duration_us = number(rows, places.duration, (mapping.duration.1, DURATION_MAX_US))?;
    let bytes =
        |place: Option<usize>| place.map_or(Ok(0), |index| rows.count(index, "a count of bytes"));
    Ok(Request {
        start_us: match instant {
            Instant::Start => at_us,
            Instant::End => at_us.saturating_sub(duration_us),
        },
        duration_us,
        failure: failure(rows, places)?,
        label: label_of(places.label.map_or("", |index| rows.cell(index))),
        bytes_sent: bytes(places.sent)?,
        bytes_received: bytes(places.received)?,
    })
}

/// A number of a unit, in µs.
fn number<R: BufRead>(rows: &Rows<R>, index: usize, (unit, max_us): (f64, f64)) -> Result<u64> {
    let read: Option<f64> = rows.cell(index).trim().parse().ok();
    let us = read.map(|value| value * unit);
    match us.filter(|us| (0.0..=max_us).contains(us)) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        Some(us) => Ok(us.round() as u64),
        None => {
            Err(rows.unexpected_value(index, "a number that is a time in the unit of --column"))
        }
    }
}

fn rfc3339<R: BufRead>(rows: &Rows<R>, index: usize) -> Result<u64> {
    let read: Option<Timestamp> = rows.cell(index).trim().parse().ok();
    let us = read.and_then(|time| u64::try_from(time.as_microsecond()).ok());
    us.ok_or_else(|| {
        let expected = "a time as in RFC 3339 (for a number give its unit, such as start=NAME:ms)";
        rows.unexpected_value(index, expected)
    })
}

fn failure<R: BufRead>(rows: &Rows<R>, places: &Places) -> Result<Option<FailureKind>> {
    let by_status = match places.status {
        None => None,
        Some(index) => {
            let status: Option<u16> = rows.cell(index).trim().parse().ok();
            status_failure(
                status.ok_or_else(|| rows.unexpected_value(index, "a status such as 200"))?,
            )
        }
    };
    let Some(index) = places.success else {
        return Ok(by_status);
    };
    let success = rows.cell(index).trim().to_ascii_lowercase();
    match success.as_str() {
        "true" | "1" | "yes" | "ok" => Ok(None),
        "false" | "0" | "no" | "ko" => Ok(Some(by_status.unwrap_or(FailureKind::Other))),
        _ => Err(rows.unexpected_value(index, EXPECTED_SUCCESS)),
    }
}
