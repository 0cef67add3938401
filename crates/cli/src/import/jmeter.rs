//! JMeter's results: JTL files in CSV format.

use std::io::BufRead;

use anyhow::{Result, bail};
use waggle_results::FailureKind;

use super::{
    request::{FileFacts, Request, Visit, label_of, status_failure},
    text::{Lines, Rows},
};

/// Times are in ms.
const RESOLUTION_US: f64 = 1_000.0;
/// How the message of a transaction controller begins, whose requests are in rows of their own.
const TRANSACTION: &str = "Number of samples in transaction";
const EXPECTED_HEADER: &str = "a header row with timeStamp and elapsed";
/// Longer times are no times of requests.
const ELAPSED_MAX_MS: u64 = 30 * 24 * 3_600_000;
const TIMESTAMP_MAX_MS: u64 = 1 << 47;

/// Where the columns are.
struct Columns {
    timestamp: usize,
    elapsed: usize,
    success: Option<usize>,
    code: Option<usize>,
    message: Option<usize>,
    label: Option<usize>,
    received: Option<usize>,
    sent: Option<usize>,
}

/// `delimiter`: that of the header row.
pub(crate) fn read<R: BufRead>(
    lines: Lines<R>,
    delimiter: char,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let name = lines.name.clone();
    let mut rows = Rows::new(lines, delimiter);
    let header = rows.header(EXPECTED_HEADER)?;
    let columns = columns(&rows, &header)?;
    let mut transactions = 0u64;
    let mut requests = 0u64;
    while rows.next_row()? {
        let message = columns.message.map_or("", |index| rows.cell(index));
        if message.starts_with(TRANSACTION) {
            transactions += 1;
            continue;
        }
        requests += 1;
        visit(&request(&rows, &columns)?)?;
    }
    if requests == 0 {
        bail!("{name} has no samples");
    }
    let mut remarks = Vec::new();
    if transactions > 0 {
        remarks.push(format!(
            "{transactions} samples of transaction controllers left out: their requests have samples of their own"
        ));
    }
    Ok(FileFacts {
        has_bytes_sent: columns.sent.is_some(),
        has_bytes_received: columns.received.is_some(),
        resolution_us: RESOLUTION_US,
        remarks,
    })
}

fn columns<R: BufRead>(rows: &Rows<R>, header: &[String]) -> Result<Columns> {
    if header[0].starts_with('<') {
        return Err(rows.mistake(
            0,
            "expected CSV, found XML: set jmeter.save.saveservice.output_format=csv",
        ));
    }
    let find = |name: &str| header.iter().position(|column| column == name);
    let (Some(timestamp), Some(elapsed)) = (find("timeStamp"), find("elapsed")) else {
        return Err(rows.unexpected_value(0, EXPECTED_HEADER));
    };
    let columns = Columns {
        timestamp,
        elapsed,
        success: find("success"),
        code: find("responseCode"),
        message: find("responseMessage"),
        label: find("label"),
        received: find("bytes"),
        sent: find("sentBytes"),
    };
    if columns.success.is_none() && columns.code.is_none() {
        return Err(rows.mistake(
            0,
            "expected a column success or responseCode: without both it is not known which requests failed",
        ));
    }
    Ok(columns)
}

fn request<'a, R: BufRead>(rows: &'a Rows<R>, columns: &Columns) -> Result<Request<'a>> {
    let (timestamp, elapsed) = (columns.timestamp, columns.elapsed);
    let expected = "milliseconds since 1970 (jmeter.save.saveservice.timestamp_format=ms)";
    let start_ms = rows.count(timestamp, expected)?;
    if start_ms > TIMESTAMP_MAX_MS {
        return Err(rows.unexpected_value(timestamp, expected));
    }
    let elapsed_ms = rows.count(elapsed, "a count of milliseconds")?;
    if elapsed_ms > ELAPSED_MAX_MS {
        return Err(rows.unexpected_value(elapsed, "30 days at most, in milliseconds"));
    }
    let bytes =
        |column: Option<usize>| column.map_or(Ok(0), |index| rows.count(index, "a count of bytes"));
    Ok(Request {
        start_us: start_ms * 1_000,
        duration_us: elapsed_ms * 1_000,
        failure: failure(rows, columns)?,
        label: label_of(columns.label.map_or("", |index| rows.cell(index))),
        bytes_sent: bytes(columns.sent)?,
        bytes_received: bytes(columns.received)?,
    })
}

fn failure<R: BufRead>(rows: &Rows<R>, columns: &Columns) -> Result<Option<FailureKind>> {
    let code = columns.code.map_or("", |index| rows.cell(index));
    let status = code.parse::<u16>().ok();
    let by_code = match status {
        Some(status) => status_failure(status),
        None => Some(no_status(code)),
    };
    let Some(success) = columns.success else {
        return Ok(by_code);
    };
    match rows.cell(success) {
        "true" => Ok(None),
        // The status may be good, and an assertion has failed.
        "false" => Ok(Some(by_code.unwrap_or(FailureKind::CheckFailed))),
        _ => Err(rows.unexpected_value(success, "true or false")),
    }
}

/// The failure of a request without a status: JMeter names the exception.
fn no_status(code: &str) -> FailureKind {
    let has = |part: &str| code.contains(part);
    if has("Timeout") {
        FailureKind::TimedOut
    } else if has("ConnectException") || has("UnknownHost") || has("NoRouteToHost") {
        FailureKind::NotConnected
    } else if has("NoHttpResponse") || has("SocketException") {
        FailureKind::Reset
    } else {
        FailureKind::Other
    }
}
