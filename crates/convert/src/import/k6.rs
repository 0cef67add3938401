//! k6's results: the lines of `k6 run --out json=FILE`.

use std::{borrow::Cow, io::BufRead};

use anyhow::{Result, bail};
use jiff::Timestamp;
use serde::Deserialize;
use waggle_results::FailureKind;

use super::{
    request::{FileFacts, Request, Visit, label_of, status_failure},
    text::Lines,
};

const DURATION: &str = "http_req_duration";
const DROPPED: &str = "dropped_iterations";
const DURATION_MAX_MS: f64 = 30.0 * 24.0 * 3.6e6;

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(borrow)]
    data: Sample<'a>,
}

/// The sample of a point; an entry that declares a metric has other keys.
#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(borrow)]
    time: Option<Cow<'a, str>>,
    value: Option<f64>,
    #[serde(borrow)]
    tags: Option<Tags<'a>>,
}

#[derive(Default, Deserialize)]
struct Tags<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    expected_response: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error_code: Option<Cow<'a, str>>,
}

pub(crate) fn read<R: BufRead>(mut lines: Lines<R>, visit: &mut Visit<'_>) -> Result<FileFacts> {
    let (mut requests, mut dropped) = (0u64, 0.0);
    while lines.next_line()? {
        if lines.text.is_empty() {
            continue;
        }
        let entry: Entry<'_> = serde_json::from_str(&lines.text).map_err(|problem| {
            let expected = "expected a line of k6 run --out json=FILE";
            lines.mistake(problem.column().max(1), &format!("{expected}: {problem}"))
        })?;
        if entry.kind != "Point" {
            continue;
        }
        match &*entry.metric {
            DURATION => {
                requests += 1;
                let request = request(&entry.data);
                let request = request.map_err(|expected| lines.mistake(1, expected))?;
                visit(&request)?;
            }
            DROPPED => dropped += entry.data.value.unwrap_or(0.0),
            _ => {}
        }
    }
    if requests == 0 {
        bail!(
            "{} has no point of {DURATION}; expected a file of k6 run --out json=FILE",
            lines.name
        );
    }
    let mut remarks = vec![format!(
        "times are k6's {DURATION}, which has no time for opening a connection"
    )];
    if dropped > 0.0 {
        remarks.push(format!(
            "k6 dropped {dropped:.0} iterations: it did not hold its rate"
        ));
    }
    Ok(FileFacts {
        resolution_us: 1.0,
        remarks,
        ..FileFacts::default()
    })
}

/// The error is what was expected.
fn request<'a>(sample: &'a Sample<'a>) -> Result<Request<'a>, &'static str> {
    let time = sample.time.as_deref().ok_or("expected data.time")?;
    let time: Timestamp = time
        .parse()
        .map_err(|_| "expected data.time to be a time as in RFC 3339")?;
    let end_us =
        u64::try_from(time.as_microsecond()).map_err(|_| "expected data.time to be after 1970")?;
    let value = sample.value.ok_or("expected data.value to be a number")?;
    if !(0.0..=DURATION_MAX_MS).contains(&value) {
        return Err("expected data.value to be milliseconds, 30 days at most");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    let duration_us = (value * 1e3).round() as u64;
    let tags = sample.tags.as_ref();
    let label = tags.and_then(|tags| tags.name.as_deref());
    Ok(Request {
        // A sample is taken when the answer is complete.
        start_us: end_us.saturating_sub(duration_us),
        duration_us,
        failure: tags.map_or(Ok(None), failure)?,
        label: label_of(label.unwrap_or("")),
        bytes_sent: 0,
        bytes_received: 0,
    })
}

/// By k6's own judgement, if the file has it; else by the status.
fn failure(tags: &Tags<'_>) -> Result<Option<FailureKind>, &'static str> {
    let status = match tags.status.as_deref() {
        None | Some("") => None,
        Some(status) => {
            let status: u16 =
                (status.parse()).map_err(|_| "expected data.tags.status to be a status")?;
            Some(status)
        }
    };
    let by_status = status.and_then(status_failure);
    let by_status = match (by_status, tags.error_code.as_deref()) {
        (Some(FailureKind::Other), Some(code)) => Some(of_error_code(code)),
        (by_status, _) => by_status,
    };
    Ok(match tags.expected_response.as_deref() {
        Some("true") => None,
        Some("false") => Some(by_status.unwrap_or(FailureKind::CheckFailed)),
        _ => by_status,
    })
}

/// k6's codes of errors without an answer (<https://grafana.com/docs/k6/latest/javascript-api/error-codes/>).
fn of_error_code(code: &str) -> FailureKind {
    match code {
        "1050" | "1211" => FailureKind::TimedOut,
        "1220" => FailureKind::Reset,
        code if code.starts_with("11") || code.starts_with("12") => FailureKind::NotConnected,
        _ => FailureKind::Other,
    }
}
