//! vegeta's results: the rows of `vegeta encode --to csv`, which have no header.

use std::io::BufRead;

use anyhow::{Result, bail};
use waggle_results::FailureKind;

use super::{
    request::{FileFacts, Request, Visit, label_of},
    text::{Lines, Rows},
};

/// Cells up to the sequence number; later versions have method, URL and headers after it.
const CELLS_MIN: usize = 7;
const TIMESTAMP: usize = 0;
const CODE: usize = 1;
const LATENCY: usize = 2;
const BYTES_SENT: usize = 3;
const BYTES_RECEIVED: usize = 4;
const ERROR: usize = 5;
const METHOD: usize = 9;
const URL: usize = 10;
const EXPECTED: &str = "the rows of vegeta encode --to csv";
const EXPECTED_TIME: &str = "nanoseconds since 1970, as of vegeta encode --to csv";
const LATENCY_MAX_NS: u64 = 30 * 24 * 3_600 * 1_000_000_000;
/// The year 2255 or so.
const TIME_MAX_NS: u64 = 9_000_000_000_000_000_000;

pub(crate) fn read<R: BufRead>(lines: Lines<R>, visit: &mut Visit<'_>) -> Result<FileFacts> {
    let name = lines.name.clone();
    let mut rows = Rows::new(lines, ',');
    rows.header(EXPECTED)?;
    if rows.width() < CELLS_MIN {
        return Err(rows.unexpected_value(0, EXPECTED));
    }
    rows.repeat_row();
    let mut requests = 0u64;
    while rows.next_row()? {
        requests += 1;
        let label = match rows.width() > URL {
            true => format!("{} {}", rows.cell(METHOD), rows.cell(URL)),
            false => String::new(),
        };
        visit(&request(&rows, label_of(label.trim()))?)?;
    }
    if requests == 0 {
        bail!("{name} has no rows");
    }
    Ok(FileFacts {
        has_bytes_sent: true,
        has_bytes_received: true,
        resolution_us: 1.0,
        ..FileFacts::default()
    })
}

fn request<'a, R: BufRead>(rows: &Rows<R>, label: &'a str) -> Result<Request<'a>> {
    let nanoseconds = |index: usize, (max, expected): (u64, &str)| {
        let read: Option<u64> = rows.cell(index).parse().ok();
        read.filter(|ns| *ns <= max)
            .ok_or_else(|| rows.unexpected_value(index, expected))
    };
    let start_ns = nanoseconds(TIMESTAMP, (TIME_MAX_NS, EXPECTED_TIME))?;
    let code: Option<u16> = rows.cell(CODE).parse().ok();
    let code = code.ok_or_else(|| rows.unexpected_value(CODE, "a status, or 0"))?;
    let latency_ns = nanoseconds(LATENCY, (LATENCY_MAX_NS, "nanoseconds, 30 days at most"))?;
    Ok(Request {
        start_us: start_ns / 1_000,
        duration_us: (latency_ns + 500) / 1_000,
        failure: failure(code, rows.cell(ERROR)),
        label,
        bytes_sent: rows.count(BYTES_SENT, "a count of bytes")?,
        bytes_received: rows.count(BYTES_RECEIVED, "a count of bytes")?,
    })
}

/// A request succeeded if its status is from 200 to 399, as for vegeta. Its errors are those of Go's HTTP client.
fn failure(code: u16, error: &str) -> Option<FailureKind> {
    let has = |part: &str| error.contains(part);
    match code {
        200..=399 => None,
        1.. => Some(FailureKind::Status(code)),
        0 if has("timeout") || has("Timeout") || has("deadline exceeded") => {
            Some(FailureKind::TimedOut)
        }
        0 if has("connection refused")
            || has("no such host")
            || has("no route to host")
            || has("dial ") =>
        {
            Some(FailureKind::NotConnected)
        }
        0 if has("connection reset") || has("EOF") || has("broken pipe") => {
            Some(FailureKind::Reset)
        }
        0 => Some(FailureKind::Other),
    }
}
