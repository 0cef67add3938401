//! The bytes of a request: head, body, and where its stamps go. Pure.

use waggle_load::{Prepared, Slot, Stamp};
use waggle_study::{RecordsFormat, Request};

/// A request whose body is the same each time.
pub(crate) fn plain(request: &Request, host: &str, body: &str) -> Prepared {
    let mut bytes = head(request, host, None, body.len());
    bytes.extend_from_slice(body.as_bytes());
    Prepared {
        bytes,
        slots: Vec::new(),
        records: 0,
        is_head: request.method == "HEAD",
    }
}

/// A request whose records get their stamps when they are sent.
pub(crate) fn with_slots(
    request: &Request,
    host: &str,
    content_type: &str,
    body: &waggle_record::Body,
) -> Prepared {
    let mut bytes = head(request, host, Some(content_type), body.bytes.len());
    let start = bytes.len();
    bytes.extend_from_slice(&body.bytes);
    let mut slots = Vec::with_capacity(2 * body.slots.len());
    for (record, (key_at, time_at)) in (0..).zip(&body.slots) {
        slots.push(Slot {
            at: start + key_at,
            stamp: Stamp::Key { record },
        });
        slots.push(Slot {
            at: start + time_at,
            stamp: Stamp::Time,
        });
    }
    let records = u32::try_from(body.slots.len()).expect("a study's records per request are a u32");
    Prepared {
        bytes,
        slots,
        records,
        is_head: false,
    }
}

fn head(request: &Request, host: &str, content_type: Option<&str>, length: usize) -> Vec<u8> {
    let has = |wanted: &str| {
        request
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    let mut add = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    };
    if !has("host") {
        add("Host", host);
    }
    if let Some(content_type) = content_type
        && !has("content-type")
    {
        add("Content-Type", content_type);
    }
    for (name, value) in &request.headers {
        add(name, value);
    }
    // RFC 9110, 8.6: a method that gives a body a meaning says its length, even of an empty one.
    if length > 0 || matches!(&*request.method, "PUT" | "POST" | "PATCH") {
        add("Content-Length", &length.to_string());
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// What a body of records says it is.
pub(crate) fn content_type(format: RecordsFormat) -> &'static str {
    match format {
        RecordsFormat::LineProtocol => "text/plain; charset=utf-8",
        RecordsFormat::Ndjson => "application/x-ndjson",
        RecordsFormat::Json => "application/json",
        RecordsFormat::Csv => "text/csv",
    }
}
