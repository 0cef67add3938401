//! Leaves out what no study can say, with a line for each: methods, bodies and headers that requests here do not have.

use super::call::{Call, Found, is_field_name};

const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
/// Those that carry no body here.
const READING: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Longest body: a study file has at most 256 KiB.
const BODY_MAX_BYTES: usize = 64 * 1024;

pub(super) fn fit(found: &mut Found) {
    let left_out = &mut found.left_out;
    found.calls.retain_mut(|call| {
        let name = &call.name;
        if !METHODS.contains(&&*call.method) {
            left_out.push(format!("{name}: its method is not one of {METHODS:?}"));
            return false;
        }
        call.body = call.body.take().filter(|body| !body.is_empty());
        if call.body.is_some() && READING.contains(&&*call.method) {
            let method = &call.method;
            left_out.push(format!("{name}: a {method} request carries no body here"));
            return false;
        }
        if call
            .body
            .as_ref()
            .is_some_and(|body| body.len() > BODY_MAX_BYTES)
        {
            left_out.push(format!(
                "{name}: its body is longer than {BODY_MAX_BYTES} bytes"
            ));
            return false;
        }
        call.path = in_ascii(&call.path);
        headers(call, left_out);
        true
    });
}

/// Whether requests by this method carry no body here.
pub(crate) fn is_reading(method: &str) -> bool {
    READING.contains(&method)
}

/// A call that a study can have, in place of one that it cannot.
pub(super) fn nearest(call: Call) -> Call {
    let method = match METHODS.contains(&&*call.method) {
        true => call.method.clone(),
        false if call.body.is_some() => "POST".to_owned(),
        false => "GET".to_owned(),
    };
    let body = call
        .body
        .filter(|body| !is_reading(&method) && body.len() <= BODY_MAX_BYTES);
    Call {
        path: in_ascii(&call.path),
        method,
        body,
        ..call
    }
}

fn headers(call: &mut Call, left_out: &mut Vec<String>) {
    let name = &call.name;
    call.headers.retain(|(field, value)| {
        // Those of HTTP/2 begin with a colon and are not sent as headers.
        let is_fine = (is_field_name(field) || field.starts_with(':'))
            && !value.chars().any(|letter| {
                letter.is_control() && letter != '\t' && letter != super::shell::EXPANSION
            });
        if !is_fine {
            let shown = if is_field_name(field) {
                field
            } else {
                "with an odd name"
            };
            left_out.push(format!(
                "a header {shown} of {name}: it cannot stand in a request"
            ));
        }
        is_fine
    });
}

/// A path as it goes into a request's first line.
fn in_ascii(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && byte != b'#' {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
