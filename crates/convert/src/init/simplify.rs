//! Leaves out what a study cannot express, with one line for each: methods that a study cannot have, long bodies, and headers that are repeated,
//! invalid or specific to a connection.

use std::collections::BTreeSet;

use waggle_spec::{TUNNEL_METHOD, TUNNEL_OBJECTION};

use super::call::{Call, ImportedCalls, header, host_of, is_token};

/// Maximum size of a body; a study file is limited to 256 KiB.
pub const BODY_MAX_BYTES: usize = 64 * 1024;
/// Header fields that the load generator writes.
const GENERATED: [&str; 3] = ["connection", "content-length", "transfer-encoding"];
/// Header fields that are specific to a connection or a browser.
const SPECIFIC: [&str; 10] = [
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "expect",
    "proxy-connection",
    "upgrade-insecure-requests",
    "if-none-match",
    "if-modified-since",
    "priority",
];

/// The origin of headers, which decides which ones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    /// Given by the user: all that a study can have are kept.
    Given,
    /// Recorded: those that are specific to a connection or a browser are left out.
    Recorded,
}

/// Leaves out calls with an invalid method, tunnels and long bodies.
pub(super) fn drop_calls(imported: &mut ImportedCalls) {
    let left_out = &mut imported.left_out;
    imported.calls.retain(|call| {
        let why = obstacle(call);
        left_out.extend(why.iter().map(|why| format!("{}: {why}", call.name)));
        why.is_none()
    });
}

/// Why a study cannot have a call.
fn obstacle(call: &Call) -> Option<String> {
    if !is_token(&call.method) {
        Some("its method is invalid".to_owned())
    } else if call.method == TUNNEL_METHOD {
        Some(TUNNEL_OBJECTION.to_owned())
    } else if call.body.as_ref().map_or(0, String::len) > BODY_MAX_BYTES {
        Some(format!("its body is longer than {BODY_MAX_BYTES} bytes"))
    } else {
        None
    }
}

/// Leaves out headers.
pub(super) fn drop_headers(imported: &mut ImportedCalls, fields: Fields) {
    let is_session = imported.is_session;
    let is_step = imported.calls.len() > 1;
    let mut specific = BTreeSet::new();
    let mut left_out = Vec::new();
    for call in &mut imported.calls {
        for (name, value) in std::mem::take(&mut call.headers) {
            let lower = name.to_ascii_lowercase();
            if is_invalid(&name, &value) {
                left_out.push(invalid_line(&name, call));
            } else if is_written(&lower, &value, call) {
            } else if is_specific(&lower, fields) || (is_step && lower == "host") {
                specific.insert(lower);
            } else if is_session && lower == "cookie" {
                let why = "cookies: each session gets its own from the answers of the server";
                left_out.push(why.to_owned());
            } else if header(&call.headers, &name).is_some() {
                let call_name = &call.name;
                left_out.push(format!(
                    "another {name} of {call_name}: a study sends each header once"
                ));
            } else {
                call.headers.push((name, value));
            }
        }
    }
    if !specific.is_empty() {
        let names: Vec<String> = specific.into_iter().collect();
        let names = names.join(", ");
        left_out.push(format!(
            "headers that are specific to a connection or browser: {names}"
        ));
    }
    left_out
        .into_iter()
        .for_each(|line| imported.leave_out(line));
}

/// Whether a header cannot be sent. Pseudo-headers of HTTP/2 start with a colon and are handled elsewhere.
fn is_invalid(name: &str, value: &str) -> bool {
    let is_invalid =
        |letter: char| letter.is_control() && letter != '\t' && letter != super::shell::EXPANSION;
    !(is_token(name) || name.starts_with(':')) || value.chars().any(is_invalid)
}

fn invalid_line(name: &str, call: &Call) -> String {
    let shown = match is_token(name) {
        true => name,
        false => "with an invalid name",
    };
    let call_name = &call.name;
    format!("a header {shown} of {call_name}: it cannot be sent")
}

/// Whether the load generator writes the same header.
fn is_written(lower: &str, value: &str, call: &Call) -> bool {
    lower.starts_with(':')
        || lower == "content-length"
        || (lower == "host" && value.eq_ignore_ascii_case(host_of(&call.origin)))
}

fn is_specific(lower: &str, fields: Fields) -> bool {
    GENERATED.contains(&lower)
        || (fields == Fields::Recorded && (SPECIFIC.contains(&lower) || lower.starts_with("sec-")))
}

#[cfg(test)]
mod tests {
    use super::{Call, Fields, ImportedCalls, drop_headers};

    #[test]
    fn headers_that_a_study_cannot_have_are_left_out() {
        let given = [
            (":authority", "h"),
            ("Host", "H"),
            ("Content-Length", "3"),
            ("Connection", "close"),
            ("Sec-Fetch-Mode", "cors"),
            ("If-None-Match", "a"),
            ("X-A", "1"),
            ("x-a", "2"),
            ("X-B", "\n"),
            ("bad name", "a"),
        ];
        let check = |host: &str, fields: Fields, kept: &[&str], lines: &[&str]| {
            let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let call = Call {
                name: "get".to_owned(),
                origin: "http://h".to_owned(),
                headers: given
                    .into_iter()
                    .chain([("host", host)])
                    .map(pair)
                    .collect(),
                ..Call::default()
            };
            let mut imported = ImportedCalls {
                calls: vec![call],
                ..ImportedCalls::default()
            };
            drop_headers(&mut imported, fields);
            let names: Vec<&str> = imported.calls[0]
                .headers
                .iter()
                .map(|(name, _)| &**name)
                .collect();
            assert_eq!(names, kept, "{fields:?}");
            assert_eq!(imported.left_out, lines, "{fields:?}");
        };
        let invalid = [
            "another x-a of get: a study sends each header once",
            "a header X-B of get: it cannot be sent",
            "a header with an invalid name of get: it cannot be sent",
        ];
        let with = |line| [&invalid[..], &[line]].concat();
        check(
            "h",
            Fields::Recorded,
            &["X-A"],
            &with(
                "headers that are specific to a connection or browser: connection, if-none-match, sec-fetch-mode",
            ),
        );
        check(
            "other",
            Fields::Given,
            &["Sec-Fetch-Mode", "If-None-Match", "X-A", "host"],
            &with("headers that are specific to a connection or browser: connection"),
        );
    }
}
