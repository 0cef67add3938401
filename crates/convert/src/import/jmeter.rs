//! JMeter's results: JTL files in CSV format, with or without a header row, and in XML format.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Result, bail};
use waggle_results::FailureKind;
use waggle_runner::TextFile;

use super::{
    request::{FileFacts, Request, Visit, label_of, status_failure},
    text::{self, Lines, Rows, parse_count},
    xml::{Start, Tag, Tags},
};

/// Times are in ms.
const RESOLUTION_US: f64 = 1_000.0;
/// How the message of a transaction controller begins, whose requests are samples of their own.
const TRANSACTION: &str = "Number of samples in transaction";
const EXPECTED_HEADER: &str = "a header row with timeStamp and elapsed";
const EXPECTED_TIME: &str = "milliseconds since 1970 (jmeter.save.saveservice.timestamp_format=ms)";
const EXPECTED_ELAPSED: &str = "a count of milliseconds";
const EXPECTED_BYTES: &str = "a count of bytes";
/// Longer times are no times of requests.
const ELAPSED_MAX_MS: u64 = 30 * 24 * 3_600_000;
const TIMESTAMP_MAX_MS: u64 = 1 << 47;
/// The columns that JMeter 5 writes by default; versions 3.1 to 4 have no `URL`.
const DEFAULT_COLUMNS: [&str; 17] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "URL",
    "Latency",
    "IdleTime",
    "Connect",
];
/// The root of a file in XML format.
const ROOT: &str = "testResults";

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

/// What samples were left out, and why.
#[derive(Default)]
struct Counts {
    requests: u64,
    transactions: u64,
    /// Within the samples of requests.
    parts: u64,
}

impl Counts {
    /// Whether bytes are known is left to the caller.
    fn facts(self, name: &str) -> Result<FileFacts> {
        match self {
            Self {
                requests: 0,
                transactions: 0,
                ..
            } => bail!("{name} has no samples"),
            Self { requests: 0, .. } => bail!(
                "{name} has samples of transaction controllers alone: switch off \"Generate parent sample\", or save the results as XML with sub-results"
            ),
            _ => {}
        }
        let mut remarks = Vec::new();
        if self.transactions > 0 {
            remarks.push(format!(
                "{} samples of transaction controllers left out: their requests have samples of their own",
                self.transactions
            ));
        }
        if self.parts > 0 {
            remarks.push(format!(
                "{} samples within samples left out: redirects and embedded resources are parts of a request, as in JMeter's listeners",
                self.parts
            ));
        }
        Ok(FileFacts {
            resolution_us: RESOLUTION_US,
            remarks,
            ..FileFacts::default()
        })
    }
}

/// Reads a file; `first` is its first line.
pub(crate) fn read(path: &Path, first: &str, visit: &mut Visit<'_>) -> Result<FileFacts> {
    if first.trim_start().starts_with('<') {
        let tags = Tags::new(path.display().to_string(), text::open_file(path)?);
        return read_xml(path, tags, visit);
    }
    let delimiter = super::columns::delimiter(first);
    read_rows(text::open(path)?, delimiter, visit)
}

/// `delimiter`: that of the header row.
fn read_rows<R: BufRead>(
    lines: Lines<R>,
    delimiter: char,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let name = lines.name.clone();
    let mut rows = Rows::new(lines, delimiter);
    let header = rows.header(EXPECTED_HEADER)?;
    let columns = columns(&mut rows, &header)?;
    let mut counts = Counts::default();
    while rows.next_row()? {
        let message = columns.message.map_or("", |index| rows.cell(index));
        if message.starts_with(TRANSACTION) {
            counts.transactions += 1;
            continue;
        }
        counts.requests += 1;
        visit(&request(&rows, &columns)?)?;
    }
    Ok(FileFacts {
        has_bytes_sent: columns.sent.is_some(),
        has_bytes_received: columns.received.is_some(),
        ..counts.facts(&name)?
    })
}

fn columns<R: BufRead>(rows: &mut Rows<R>, header: &[String]) -> Result<Columns> {
    let defaults;
    let find = |name: &str| header.iter().position(|column| column == name);
    let header = if find("timeStamp").is_some() && find("elapsed").is_some() {
        header
    } else {
        defaults = default_columns(rows, header)?;
        rows.repeat_row();
        &defaults[..]
    };
    let find = |name: &str| header.iter().position(|column| column == name);
    let columns = Columns {
        timestamp: find("timeStamp").unwrap_or_default(),
        elapsed: find("elapsed").unwrap_or_default(),
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

/// The columns of a file without a header row, if its first row fits those that JMeter writes by default.
fn default_columns<R: BufRead>(rows: &Rows<R>, row: &[String]) -> Result<Vec<String>> {
    let is_time =
        parse_count(&row[0]).is_some_and(|ms| (1_000_000_000..TIMESTAMP_MAX_MS).contains(&ms));
    if !is_time {
        return Err(rows.unexpected_value(0, EXPECTED_HEADER));
    }
    let without_url = DEFAULT_COLUMNS.iter().filter(|&&name| name != "URL");
    let names: Vec<&str> = match rows.width() {
        17 => DEFAULT_COLUMNS.into(),
        16 => without_url.copied().collect(),
        _ => Vec::new(),
    };
    let cell = |name: &str| {
        let index = names.iter().position(|known| *known == name);
        index.map_or("", |index| row[index].as_str())
    };
    let is_count = |name: &str| parse_count(cell(name)).is_some();
    let counts = [
        "elapsed",
        "bytes",
        "sentBytes",
        "grpThreads",
        "allThreads",
        "Latency",
        "Connect",
    ];
    if matches!(cell("success"), "true" | "false") && counts.into_iter().all(is_count) {
        return Ok(names.into_iter().map(str::to_owned).collect());
    }
    let problem = format!(
        "expected {EXPECTED_HEADER}, found a row of {} cells, which are not the columns that JMeter writes by default: put the header row of these results above it (jmeter.save.saveservice.print_field_names=true writes it)",
        rows.width()
    );
    Err(rows.mistake(0, &problem))
}

fn request<'a, R: BufRead>(rows: &'a Rows<R>, columns: &Columns) -> Result<Request<'a>> {
    let (timestamp, elapsed) = (columns.timestamp, columns.elapsed);
    let start_ms = rows.count(timestamp, EXPECTED_TIME)?;
    if start_ms > TIMESTAMP_MAX_MS {
        return Err(rows.unexpected_value(timestamp, EXPECTED_TIME));
    }
    let elapsed_ms = rows.count(elapsed, EXPECTED_ELAPSED)?;
    if elapsed_ms > ELAPSED_MAX_MS {
        return Err(rows.unexpected_value(elapsed, "30 days at most, in milliseconds"));
    }
    let bytes =
        |column: Option<usize>| column.map_or(Ok(0), |index| rows.count(index, EXPECTED_BYTES));
    let code = columns.code.map_or("", |index| rows.cell(index));
    let success = columns.success.map(|index| rows.cell(index));
    let failure = failure(code, success)
        .map_err(|expected| rows.unexpected_value(columns.success.unwrap_or_default(), expected))?;
    Ok(Request {
        start_us: start_ms * 1_000,
        duration_us: elapsed_ms * 1_000,
        failure,
        label: label_of(columns.label.map_or("", |index| rows.cell(index))),
        bytes_sent: bytes(columns.sent)?,
        bytes_received: bytes(columns.received)?,
    })
}

/// The error is what was expected.
fn failure(code: &str, success: Option<&str>) -> Result<Option<FailureKind>, &'static str> {
    let by_code = match code.parse::<u16>() {
        Ok(status) => status_failure(status),
        Err(_) => Some(no_status(code)),
    };
    match success {
        None => Ok(by_code),
        Some("true") => Ok(None),
        // The status may be good, and an assertion has failed.
        Some("false") => Ok(Some(by_code.unwrap_or(FailureKind::CheckFailed))),
        Some(_) => Err("true or false"),
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

/// What an open element of the XML format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Root,
    Request,
    Transaction,
    Other,
}

/// The XML format. A sample within one of a request is a part of it; those within one of a transaction controller are requests.
fn read_xml(
    path: &Path,
    mut tags: Tags<BufReader<TextFile>>,
    visit: &mut Visit<'_>,
) -> Result<FileFacts> {
    let mut open: Vec<Element> = Vec::new();
    let mut counts = Counts::default();
    let (mut has_sent, mut has_received, mut is_whole) = (true, true, false);
    while let Some(tag) = tags.next_tag()? {
        let Tag::Start(start) = tag else {
            is_whole |= open.pop() == Some(Element::Root);
            continue;
        };
        if open.is_empty() && is_whole {
            let problem = "expected the results of one test, found those of another: put each into a file of its own";
            return Err(tags.mistake(start.place, problem));
        }
        let element = element(&tags, &start, &open)?;
        match element {
            Element::Transaction => counts.transactions += 1,
            Element::Request if open.contains(&Element::Request) => counts.parts += 1,
            Element::Request => {
                counts.requests += 1;
                has_sent &= start.attribute("sby").is_some();
                has_received &= start.attribute("by").is_some();
                visit(&sample(&tags, &start)?)?;
            }
            Element::Root | Element::Other => {}
        }
        open.push(element);
    }
    let name = path.display().to_string();
    let mut facts = FileFacts {
        has_bytes_sent: has_sent,
        has_bytes_received: has_received,
        ..counts.facts(&name)?
    };
    if !is_whole {
        if tags.depth() > 1 {
            bail!("{name}: the file ends within a sample: did JMeter end its test?");
        }
        facts.remarks.push(format!(
            "the file ends without </{ROOT}>: JMeter did not end its test, or was still writing"
        ));
    }
    Ok(facts)
}

fn element<R: BufRead>(tags: &Tags<R>, start: &Start, open: &[Element]) -> Result<Element> {
    if open.is_empty() {
        return match &*start.name {
            ROOT => Ok(Element::Root),
            other => {
                let problem =
                    format!("expected CSV, or XML whose first element is {ROOT}, found <{other}>");
                Err(tags.mistake(start.place, &problem))
            }
        };
    }
    let is_sample = matches!(&*start.name, "sample" | "httpSample")
        // Samplers of plug-ins have names of their own.
        || (start.attribute("t").is_some() && start.attribute("ts").is_some());
    let message = start.attribute("rm").unwrap_or_default();
    Ok(match (is_sample, message.starts_with(TRANSACTION)) {
        (false, _) => Element::Other,
        (true, true) if !open.contains(&Element::Request) => Element::Transaction,
        (true, _) => Element::Request,
    })
}

fn sample<'a, R: BufRead>(tags: &Tags<R>, start: &'a Start) -> Result<Request<'a>> {
    let unexpected = |name: &str, expected: &str| {
        let problem = unexpected_attribute(start, name, expected);
        tags.mistake(start.place, &problem)
    };
    let count = |name: &str, (max, expected): (u64, &str)| {
        let count = start.attribute(name).and_then(parse_count);
        let count = count.filter(|count| *count <= max);
        count.ok_or_else(|| unexpected(name, expected))
    };
    let bytes = |name: &str| match start.attribute(name) {
        None => Ok(0),
        Some(_) => count(name, (u64::MAX, EXPECTED_BYTES)),
    };
    let (code, success) = (start.attribute("rc"), start.attribute("s"));
    if code.is_none() && success.is_none() {
        let problem =
            "expected an attribute s or rc: without both it is not known which requests failed";
        return Err(tags.mistake(start.place, problem));
    }
    Ok(Request {
        start_us: count("ts", (TIMESTAMP_MAX_MS, EXPECTED_TIME))? * 1_000,
        duration_us: count("t", (ELAPSED_MAX_MS, EXPECTED_ELAPSED))? * 1_000,
        failure: failure(code.unwrap_or_default(), success)
            .map_err(|expected| unexpected("s", expected))?,
        label: label_of(start.attribute("lb").unwrap_or_default()),
        bytes_sent: bytes("sby")?,
        bytes_received: bytes("by")?,
    })
}

fn unexpected_attribute(start: &Start, name: &str, expected: &str) -> String {
    let attribute = match start.attribute(name) {
        Some(value) => format!("{name}={}", text::show_text(value)),
        None => "none".to_owned(),
    };
    format!("expected an attribute {name} that is {expected}, found {attribute}")
}
