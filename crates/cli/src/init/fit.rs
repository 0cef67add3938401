//! Leaves out what no study can say, with a line for each: methods that are none, bodies that are too long, and headers that
//! come twice, are of one connection, or cannot stand in a request.

use std::collections::BTreeSet;

use super::call::{Call, Found, header, host_of, is_token};

/// Longest body: a study file has at most 256 KiB.
pub(crate) const BODY_MAX_BYTES: usize = 64 * 1024;
/// Header fields that no study has: the engine writes them.
const ENGINES: [&str; 3] = ["connection", "content-length", "transfer-encoding"];
/// Header fields that mean nothing outside the connection or browser that they were seen in.
const BROWSERS: [&str; 10] = [
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

/// Which headers a study gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fields {
    /// All that it can have: somebody wanted each of them.
    Wanted,
    /// Those that do not belong to the connection or browser that they were seen in.
    Seen,
}

/// Leaves out whole calls.
pub(super) fn calls(found: &mut Found) {
    let left_out = &mut found.left_out;
    found.calls.retain(|call| {
        let name = &call.name;
        let why = if !is_token(&call.method) {
            "its method is no word".to_owned()
        } else if call.body.as_ref().map_or(0, String::len) > BODY_MAX_BYTES {
            format!("its body is longer than {BODY_MAX_BYTES} bytes")
        } else {
            return true;
        };
        left_out.push(format!("{name}: {why}"));
        false
    });
}

/// Leaves out headers of the calls that are left.
pub(super) fn headers(found: &mut Found, fields: Fields) {
    let is_session = found.is_session;
    let is_step = found.calls.len() > 1;
    let mut own = BTreeSet::new();
    let mut left_out = Vec::new();
    for call in &mut found.calls {
        for (name, value) in std::mem::take(&mut call.headers) {
            let lower = name.to_ascii_lowercase();
            if is_odd(&name, &value) {
                left_out.push(odd(&name, call));
            } else if is_written(&lower, &value, call) {
            } else if is_own(&lower, fields) || (is_step && lower == "host") {
                own.insert(lower);
            } else if is_session && lower == "cookie" {
                let why = "cookies: each session gets its own from the server's answers";
                left_out.push(why.to_owned());
            } else if header(&call.headers, &name).is_some() {
                let of = &call.name;
                let why = "a request has each header once here";
                left_out.push(format!("another {name} of {of}: {why}"));
            } else {
                call.headers.push((name, value));
            }
        }
    }
    if !own.is_empty() {
        let names: Vec<String> = own.into_iter().collect();
        let names = names.join(", ");
        left_out.push(format!("headers of a connection or of a browser: {names}"));
    }
    left_out.into_iter().for_each(|line| found.leave_out(line));
}

/// Those of HTTP/2 begin with a colon and are not sent as headers.
fn is_odd(name: &str, value: &str) -> bool {
    let is_odd =
        |letter: char| letter.is_control() && letter != '\t' && letter != super::shell::EXPANSION;
    !(is_token(name) || name.starts_with(':')) || value.chars().any(is_odd)
}

fn odd(name: &str, call: &Call) -> String {
    let shown = match is_token(name) {
        true => name,
        false => "with an odd name",
    };
    let of = &call.name;
    format!("a header {shown} of {of}: it cannot stand in a request")
}

/// Whether the engine writes it just so.
fn is_written(lower: &str, value: &str, call: &Call) -> bool {
    lower.starts_with(':')
        || lower == "content-length"
        || (lower == "host" && value.eq_ignore_ascii_case(host_of(&call.origin)))
}

fn is_own(lower: &str, fields: Fields) -> bool {
    ENGINES.contains(&lower)
        || (fields == Fields::Seen && (BROWSERS.contains(&lower) || lower.starts_with("sec-")))
}

#[cfg(test)]
mod tests {
    use super::{Call, Fields, Found, headers};

    #[test]
    fn headers_that_no_study_has_are_left_out() {
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
            let of = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let call = Call {
                name: "get".to_owned(),
                origin: "http://h".to_owned(),
                headers: given.into_iter().chain([("host", host)]).map(of).collect(),
                ..Call::default()
            };
            let mut found = Found {
                calls: vec![call],
                ..Found::default()
            };
            headers(&mut found, fields);
            let names: Vec<&str> = found.calls[0]
                .headers
                .iter()
                .map(|(name, _)| &**name)
                .collect();
            assert_eq!(names, kept, "{fields:?}");
            assert_eq!(found.left_out, lines, "{fields:?}");
        };
        let odd = [
            "another x-a of get: a request has each header once here",
            "a header X-B of get: it cannot stand in a request",
            "a header with an odd name of get: it cannot stand in a request",
        ];
        let with = |own| [&odd[..], &[own]].concat();
        check(
            "h",
            Fields::Seen,
            &["X-A"],
            &with(
                "headers of a connection or of a browser: connection, if-none-match, sec-fetch-mode",
            ),
        );
        check(
            "other",
            Fields::Wanted,
            &["Sec-Fetch-Mode", "If-None-Match", "X-A", "host"],
            &with("headers of a connection or of a browser: connection"),
        );
    }
}
