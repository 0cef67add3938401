//! Refusals in the forms of InfluxDB's versions: `error`, `code` and `message`, `error` and `data`.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use waggle_record::Mistake;

use super::{Protocol, VERSION, VERSION_FIELD};
use crate::answers::problem::Problem;

/// Longest text in a header field, and longest line of a body in an answer, in bytes.
const TEXT_MAX_BYTES: usize = 500;

/// A problem as a client of InfluxDB reads it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    fields: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// An error of version 1.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxV1Error)]
pub(crate) struct V1Error {
    #[schema(
        example = "unable to parse 'cpu': line 1, column 4: expected a field, found the end of the line"
    )]
    error: String,
}

/// An error of version 2.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxV2Error)]
pub(crate) struct V2Error {
    /// What kind of error it is; follows from the status.
    #[schema(example = "invalid")]
    code: &'static str,
    #[schema(
        example = "unable to parse 'cpu': line 1, column 4: expected a field, found the end of the line"
    )]
    message: String,
    /// The line of the first mistake, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

/// An error of version 3.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxV3Error)]
pub(crate) struct V3Error {
    #[schema(example = "parsing failed for write_lp endpoint")]
    error: String,
    /// Every mistake of the body, up to 100.
    data: Option<Vec<V3Mistake>>,
}

/// A mistake in a line.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InfluxV3Mistake)]
pub(crate) struct V3Mistake {
    /// The line, up to 500 bytes of it.
    original_line: String,
    line_number: usize,
    error_message: String,
}

impl Refusal {
    /// The form of a problem; `body` is what the client sent, decoded.
    pub(crate) fn new(protocol: Protocol, problem: &Problem, body: &[u8]) -> Self {
        let status = match (protocol, problem.status) {
            // Version 1 has no budgets, and its clients drop what is answered by any 4xx. At its own limits it says 503.
            (Protocol::V1, 429) => 503,
            (_, status) => status,
        };
        let text = text(protocol, problem, body);
        let mut fields = Vec::new();
        if matches!(protocol, Protocol::V1 | Protocol::V2) {
            fields.push((VERSION_FIELD, VERSION.to_owned()));
        }
        let body = match protocol {
            Protocol::V1 => {
                fields.push(("x-influxdb-error", field_text(&text)));
                json(&V1Error { error: text })
            }
            Protocol::V2 => {
                let code = code(status);
                fields.push(("x-platform-error-code", code.to_owned()));
                json(&V2Error {
                    code,
                    message: text,
                    line: problem.mistakes.first().map(|mistake| mistake.line),
                })
            }
            Protocol::V3 => json(&V3Error {
                error: text,
                data: v3_mistakes(problem, body),
            }),
        };
        fields.push(("content-type", "application/json".to_owned()));
        let more = [
            ("retry-after", problem.retry_after()),
            ("www-authenticate", problem.challenge()),
        ];
        let more = more.into_iter();
        fields.extend(more.filter_map(|(name, value)| Some((name, value?.to_owned()))));
        Self {
            status,
            fields,
            body,
        }
    }

    /// The fields of its answer, but for the length.
    pub(crate) fn fields(&self) -> Vec<(&str, &[u8])> {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| (*name, value.as_bytes()))
            .collect()
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body.into());
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.fields {
            if let Ok(value) = HeaderValue::from_str(&value) {
                let headers = response.headers_mut();
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        debug_assert!(response.headers().contains_key(header::CONTENT_TYPE));
        response
    }
}

fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("strings and numbers are always JSON")
}

/// What is wrong, in the words by which clients of the version recognize it.
fn text(protocol: Protocol, problem: &Problem, body: &[u8]) -> String {
    let detail = &problem.detail;
    match (problem.mistakes.first(), protocol) {
        (Some(_), Protocol::V3) => "parsing failed for write_lp endpoint".to_owned(),
        (Some(mistake), _) => {
            let line = OriginalLines { body, number: 1 }.find(mistake.line);
            let more = match problem.mistakes.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            format!("unable to parse '{line}': {detail}{more}; nothing of this request was stored")
        }
        (None, Protocol::V1) if problem.status == 404 => format!("database not found: {detail}"),
        (None, Protocol::V2) if problem.status == 404 => format!("bucket not found: {detail}"),
        (None, _) => detail.clone(),
    }
}

fn v3_mistakes(problem: &Problem, body: &[u8]) -> Option<Vec<V3Mistake>> {
    let mut lines = OriginalLines { body, number: 1 };
    let mistake = |mistake: &Mistake| V3Mistake {
        original_line: lines.find(mistake.line),
        line_number: mistake.line,
        error_message: format!("column {}: {}", mistake.column, mistake.problem),
    };
    let all = || problem.mistakes.iter().map(mistake).collect();
    (!problem.mistakes.is_empty()).then(all)
}

/// The lines of a body, found one after the other.
struct OriginalLines<'a> {
    /// From the current line on.
    body: &'a [u8],
    /// Number of the current line, from 1.
    number: usize,
}

impl OriginalLines<'_> {
    /// The start of a line that is not before the current one.
    fn find(&mut self, number: usize) -> String {
        while self.number < number {
            let newline = memchr::memchr(b'\n', self.body);
            self.body = newline.map_or(&[], |newline| &self.body[newline + 1..]);
            self.number += 1;
        }
        let end = memchr::memchr(b'\n', self.body).unwrap_or(self.body.len());
        let line = &self.body[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        String::from_utf8_lossy(&line[..line.len().min(TEXT_MAX_BYTES)]).into_owned()
    }
}

/// A text that a header field can have (RFC 9110, section 5.5).
fn field_text(text: &str) -> String {
    let is_plain = |character: &char| matches!(character, ' '..='~');
    let plain = text.chars().map(|character| match character {
        character if is_plain(&character) => character,
        _ => '?',
    });
    plain.take(TEXT_MAX_BYTES).collect()
}

/// The code of version 2 for a status.
fn code(status: u16) -> &'static str {
    match status {
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not found",
        405 => "method not allowed",
        409 => "conflict",
        413 => "request too large",
        422 => "unprocessable entity",
        429 => "too many requests",
        500 => "internal error",
        501 | 505 => "not implemented",
        503 | 507 => "unavailable",
        _ => "invalid",
    }
}
