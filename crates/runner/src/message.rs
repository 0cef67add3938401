//! The bytes of a request: head, body, and where its stamps go. Pure.

use waggle_load::{Prepared, Slot, Stamp};
use waggle_study::{RecordsFormat, Request};

/// A request whose body is the same each time, whatever `request.body` says; `host` is the Host of its head.
#[must_use]
pub fn plain(request: &Request, host: &str, body: &[u8]) -> Prepared {
    let mut bytes = head(request, host, None, body.len());
    bytes.extend_from_slice(body);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waggle_load::Stamp;
    use waggle_record::{Format, Precision};
    use waggle_study::{Body, BodyExpect, Expect, Request};

    use super::{plain, with_slots};

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Request {
            name: "r".to_owned(),
            method: method.to_owned(),
            path: "/p?q=1".to_owned(),
            headers: headers.iter().map(header).collect(),
            body: Body::None,
            expect: Expect {
                status: Vec::new(),
                body: BodyExpect::Any,
            },
            timeout: Duration::from_secs(1),
        }
    }

    #[track_caller]
    fn check(method: &str, headers: &[(&str, &str)], body: &str, expected: &str) {
        let prepared = plain(&request(method, headers), "h:1", body.as_bytes());
        assert_eq!(String::from_utf8(prepared.bytes).unwrap(), expected);
        assert_eq!((prepared.records, prepared.is_head), (0, method == "HEAD"));
    }

    #[test]
    fn heads_say_the_length_where_a_body_can_be() {
        check("GET", &[], "", "GET /p?q=1 HTTP/1.1\r\nHost: h:1\r\n\r\n");
        check(
            "HEAD",
            &[("Host", "me")],
            "",
            "HEAD /p?q=1 HTTP/1.1\r\nHost: me\r\n\r\n",
        );
        check(
            "PUT",
            &[],
            "",
            "PUT /p?q=1 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n",
        );
        check(
            "POST",
            &[("A", "b")],
            "xyz",
            "POST /p?q=1 HTTP/1.1\r\nHost: h:1\r\nA: b\r\nContent-Length: 3\r\n\r\nxyz",
        );
    }

    #[test]
    fn slots_point_at_the_digits_in_the_whole_message() {
        let records = Format::LineProtocol
            .read(b"m,a=b x=1 5\nn y=2i", None, Precision::default())
            .unwrap();
        let body = waggle_record::body(&records, "run7", Format::LineProtocol).unwrap();
        let prepared = with_slots(&request("PUT", &[]), "h:1", "text/plain", &body);
        assert_eq!((prepared.records, prepared.slots.len()), (2, 4));
        for slot in &prepared.slots {
            let before = &prepared.bytes[..slot.at];
            let digits = prepared.bytes[slot.at..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            match slot.stamp {
                Stamp::Key { .. } => {
                    assert!(before.ends_with(b"waggle_key=") && digits == waggle_load::KEY_DIGITS)
                }
                Stamp::Time => {
                    assert!(before.ends_with(b" ") && digits == waggle_load::TIME_DIGITS)
                }
            }
        }
        let keys = prepared.slots.iter().filter_map(|slot| match slot.stamp {
            Stamp::Key { record } => Some(record),
            Stamp::Time => None,
        });
        assert_eq!(keys.collect::<Vec<_>>(), [0, 1]);
        let text = String::from_utf8(prepared.bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("Content-Type: text/plain")
                && head.ends_with(&format!("Content-Length: {}", body.len()))
        );
    }
}
