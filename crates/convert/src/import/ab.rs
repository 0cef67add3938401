//! ab's results: its text output, the quantiles of `-e` and the requests of `-g`.

use std::io::BufRead;

use anyhow::{Result, anyhow, bail};
use waggle_results::{FailureCount, FailureKind, QuantilePoint, QuantilesInfo};

use super::{
    request::{FileFacts, Request, Visit},
    text::{Lines, Rows, show_text},
};

/// What the first line of each file begins with.
const TEXT: &str = "This is ApacheBench, Version ";
const QUANTILES: &str = "Percentage served,Time in ms";
const REQUESTS: &str = "starttime\tseconds\tctime\tdtime\tttime\twait";
/// Times of the text and of `-g` are in ms.
const RESOLUTION_US: f64 = 1_000.0;
const TIME_MAX_MS: u64 = 30 * 24 * 3_600_000;
const SECONDS_MAX: u64 = 1 << 37;

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Quantiles,
    Requests,
}

/// Whether the output of a test begins in the line.
pub(crate) fn begins_text(line: &str) -> bool {
    line.starts_with(TEXT)
}

/// The kind of a file, by its first line.
pub(crate) fn kind(first: &str) -> Option<Kind> {
    let kinds = [
        (TEXT, Kind::Text),
        (QUANTILES, Kind::Quantiles),
        (REQUESTS, Kind::Requests),
    ];
    let mut kinds = kinds.into_iter();
    kinds
        .find(|(start, _)| first.starts_with(start))
        .map(|(_, kind)| kind)
}

/// What the text says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    pub(crate) version: String,
    pub(crate) seconds: f64,
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    pub(crate) failures: Vec<FailureCount>,
    pub(crate) bytes_received: u64,
    /// `None`: nothing but GET requests without a body, whose bytes ab does not count.
    pub(crate) bytes_sent: Option<u64>,
    pub(crate) quantiles: QuantilesInfo,
    pub(crate) resolution_us: f64,
    pub(crate) remarks: Vec<String>,
}

/// What was found so far.
#[derive(Default)]
struct Found {
    version: String,
    seconds: Option<f64>,
    complete: Option<u64>,
    failed: Option<u64>,
    kinds: Vec<FailureCount>,
    non_2xx: u64,
    bytes_received: Option<u64>,
    bytes_sent: Option<u64>,
    mean_us: Option<f64>,
    points: Vec<QuantilePoint>,
}

/// Reads the text output: that of one test, or of several, one after the other.
pub(crate) fn read_text<R: BufRead>(mut lines: Lines<R>) -> Result<Vec<Summary>> {
    let mut all = Vec::new();
    let mut test: Option<Found> = None;
    while lines.next_line()? {
        if let Some(rest) = lines.text.strip_prefix(TEXT) {
            let version = rest.split(' ').next().unwrap_or_default().to_owned();
            let next = Found {
                version,
                ..Found::default()
            };
            if let Some(last) = test.replace(next) {
                all.push(summary(&lines, last, "the output of the next test")?);
            }
        } else if let Some(test) = &mut test {
            note(&lines, test)?;
        }
    }
    let last = test.unwrap_or_default();
    all.push(summary(&lines, last, "the end of the file")?);
    Ok(all)
}

/// What the output of a test says, up to its end.
fn summary<R: BufRead>(lines: &Lines<R>, test: Found, end: &str) -> Result<Summary> {
    let lacks = |what: &str| {
        let problem = format!("expected {what} before {end}: did ab end its test?");
        lines.mistake(1, &problem)
    };
    let complete = test
        .complete
        .ok_or_else(|| lacks("\"Complete requests:\""))?;
    let failed = test.failed.ok_or_else(|| lacks("\"Failed requests:\""))?;
    let seconds = test
        .seconds
        .ok_or_else(|| lacks("\"Time taken for tests:\""))?;
    if test.points.is_empty() && complete > 1 {
        return Err(lacks("the table of percentages"));
    }
    if failed.max(test.non_2xx) > complete {
        bail!(
            "{}: {} requests failed, but {complete} were complete",
            lines.name,
            failed.max(test.non_2xx)
        );
    }
    let mut remarks = Vec::new();
    let mut failures = test.kinds;
    if test.non_2xx > failed {
        failures.push(FailureCount {
            kind: FailureKind::Other,
            count: test.non_2xx - failed,
        });
    }
    if failed > 0 && test.non_2xx > 0 {
        remarks.push(format!(
            "ab counts {failed} failed requests and {} answers that are not 2xx; they may be the same, so the larger count is used",
            test.non_2xx
        ));
    }
    Ok(Summary {
        version: test.version,
        seconds,
        complete,
        failed: failed.max(test.non_2xx),
        failures,
        bytes_received: test.bytes_received.unwrap_or(0),
        bytes_sent: test.bytes_sent,
        quantiles: QuantilesInfo {
            mean_us: test.mean_us,
            points: test.points,
        },
        resolution_us: RESOLUTION_US,
        remarks,
    })
}

/// Notes what a line of the text says.
fn note<R: BufRead>(lines: &Lines<R>, test: &mut Found) -> Result<()> {
    let line = &lines.text;
    if let Some((value, column)) = value_of(line, "Time taken for tests:") {
        let seconds = parse::<f64>(lines, value, column, "a number of seconds")?;
        if !(seconds > 0.0 && seconds < 1e9) {
            return Err(unexpected_value(lines, value, column, "a time above 0"));
        }
        test.seconds = Some(seconds);
    } else if let Some((value, column)) = value_of(line, "Complete requests:") {
        test.complete = Some(parse(lines, value, column, "a count")?);
    } else if let Some((value, column)) = value_of(line, "Failed requests:") {
        test.failed = Some(parse(lines, value, column, "a count")?);
    } else if line.trim_start().starts_with("(Connect:") {
        test.kinds = failure_kinds(lines)?;
    } else if let Some((value, column)) = value_of(line, "Non-2xx responses:") {
        test.non_2xx = parse(lines, value, column, "a count")?;
    } else if let Some((value, column)) = value_of(line, "Total transferred:") {
        test.bytes_received = Some(parse(lines, value, column, "a count of bytes")?);
    } else if let Some((value, column)) = value_of(line, "Total body sent:") {
        test.bytes_sent = Some(parse(lines, value, column, "a count of bytes")?);
    } else if let Some((_, column)) = value_of(line, "Total:") {
        // min, mean, standard deviation, median, max.
        let mean = line.split_whitespace().nth(2).unwrap_or_default();
        test.mean_us = Some(parse::<f64>(lines, mean, column, "a mean in ms")? * 1e3);
    } else if let Some((percent, rest)) = line.split_once('%')
        && percent.starts_with(' ')
    {
        test.points.push(quantile(lines, percent, rest)?);
    }
    Ok(())
}

/// The first word after a label, and its column.
fn value_of<'a>(line: &'a str, label: &str) -> Option<(&'a str, usize)> {
    let rest = line.strip_prefix(label)?;
    let value = rest.trim_start();
    let column = line.chars().count() - value.chars().count() + 1;
    Some((value.split_whitespace().next().unwrap_or_default(), column))
}

fn parse<T: std::str::FromStr>(
    lines: &Lines<impl BufRead>,
    value: &str,
    column: usize,
    expected: &str,
) -> Result<T> {
    let read = value.parse().ok();
    read.ok_or_else(|| unexpected_value(lines, value, column, expected))
}

fn unexpected_value(
    lines: &Lines<impl BufRead>,
    value: &str,
    column: usize,
    expected: &str,
) -> anyhow::Error {
    let problem = format!("expected {expected}, found {}", show_text(value));
    lines.mistake(column, &problem)
}

/// `  50%     39`, of times in ms.
fn quantile<R: BufRead>(lines: &Lines<R>, percent: &str, rest: &str) -> Result<QuantilePoint> {
    let percent: f64 = parse(lines, percent.trim(), 1, "a percentage")?;
    let time = rest.split_whitespace().next().unwrap_or_default();
    let column = percent_column(rest, &lines.text);
    let ms: f64 = parse(lines, time, column, "a time in ms")?;
    Ok(QuantilePoint {
        quantile: percent / 100.0,
        us: ms * 1e3,
    })
}

fn percent_column(rest: &str, line: &str) -> usize {
    line.chars().count() - rest.trim_start().chars().count() + 1
}

/// `   (Connect: 0, Receive: 0, Length: 50, Exceptions: 0)`.
fn failure_kinds<R: BufRead>(lines: &Lines<R>) -> Result<Vec<FailureCount>> {
    let text = lines.text.trim();
    let text = text.trim_start_matches('(').trim_end_matches(')');
    let mut counts = Vec::new();
    for part in text.split(", ") {
        let Some((name, count)) = part.split_once(": ") else {
            return Err(lines.mistake(1, "expected failures such as (Connect: 0, Length: 1)"));
        };
        let count: u64 = parse(lines, count, 1, "a count")?;
        let kind = match name {
            "Connect" => FailureKind::NotConnected,
            "Receive" => FailureKind::Reset,
            "Length" => FailureKind::WrongBody,
            _ => FailureKind::Other,
        };
        if count > 0 {
            counts.push(FailureCount { kind, count });
        }
    }
    Ok(counts)
}

/// Reads the file of `-e`: the quantiles in µs, with their resolution.
pub(crate) fn read_quantiles<R: BufRead>(lines: Lines<R>) -> Result<Vec<QuantilePoint>> {
    let mut rows = Rows::new(lines, ',');
    rows.header(QUANTILES)?;
    let mut points = Vec::new();
    while rows.next_row()? {
        let number = |index: usize, expected: &str| {
            let read: Option<f64> = rows.cell(index).parse().ok();
            read.filter(|value| (0.0..1e10).contains(value))
                .ok_or_else(|| rows.unexpected_value(index, expected))
        };
        points.push(QuantilePoint {
            quantile: number(0, "a percentage")? / 100.0,
            us: number(1, "a time in ms")? * 1e3,
        });
    }
    Ok(points)
}

/// Reads the file of `-g`; whether requests failed is not in it.
pub(crate) fn read_requests<R: BufRead>(
    lines: Lines<R>,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let name = lines.name.clone();
    let mut rows = Rows::new(lines, '\t');
    rows.header(REQUESTS)?;
    let mut requests = 0u64;
    while rows.next_row()? {
        let seconds = rows.count(1, "seconds since 1970")?;
        if seconds > SECONDS_MAX {
            return Err(rows.unexpected_value(1, "seconds since 1970"));
        }
        let time_ms = rows.count(4, "a time in ms")?;
        if time_ms > TIME_MAX_MS {
            return Err(rows.unexpected_value(4, "30 days at most, in ms"));
        }
        requests += 1;
        visit(&Request {
            start_us: seconds * 1_000_000,
            duration_us: time_ms * 1_000,
            failure: None,
            label: "",
            bytes_sent: 0,
            bytes_received: 0,
        })?;
    }
    if requests == 0 {
        return Err(anyhow!("{name} has no requests"));
    }
    Ok(FileFacts {
        resolution_us: RESOLUTION_US,
        remarks: vec![
            "ab -g has whole seconds of starts, so intervals and requests in flight are not finer than a second".to_owned(),
        ],
        ..FileFacts::default()
    })
}
