//! The bytes of a request: head, body, and the slots of its stamps. Pure.

use waggle_load::{Escape, Filled, Prepared, Slot, Stamp, Template, Value};
use waggle_spec::RecordsFormat;
use waggle_study::{Request, Texts};

/// A request whose texts are split at their variables.
#[derive(Debug)]
pub(crate) struct Message<'r> {
    request: &'r Request,
    host: &'r str,
    path: Template,
    headers: Vec<(&'r str, Template)>,
}

/// A body and its headers.
#[derive(Debug, Default)]
struct Content {
    filled: Filled,
    records: u32,
    content_type: Option<&'static str>,
}

impl<'r> Message<'r> {
    /// # Panics
    /// If the request was not checked by `waggle_study`, which refuses invalid templates.
    pub(crate) fn new(request: &'r Request, host: &'r str) -> Self {
        let headers = request.headers.iter();
        Self {
            request,
            host,
            path: template(request, &request.path),
            headers: headers
                .map(|(name, value)| (name.as_str(), template(request, value)))
                .collect(),
        }
    }

    /// A message with the same body each time; `value` gives the other variables.
    pub(crate) fn with_bytes(
        &self,
        body: &[u8],
        value: &dyn Fn(&str) -> Option<Value>,
    ) -> Prepared {
        let content = Content {
            filled: Filled {
                bytes: body.to_vec(),
                slots: Vec::new(),
            },
            ..Content::default()
        };
        self.message(content, value)
    }

    /// A message with a body of text.
    pub(crate) fn with_text(
        &self,
        body: &Template,
        value: &dyn Fn(&str) -> Option<Value>,
    ) -> Prepared {
        let mut content = Content::default();
        put(body, Escape::None, value, &mut content.filled);
        self.message(content, value)
    }

    /// A message whose records get their stamps when they are sent.
    pub(crate) fn with_records(
        &self,
        content_type: &'static str,
        body: &waggle_record::Body,
        value: &dyn Fn(&str) -> Option<Value>,
    ) -> Prepared {
        let mut slots = Vec::with_capacity(2 * body.slots.len());
        for (record, &(key_at, time_at)) in (0..).zip(&body.slots) {
            slots.push(Slot {
                at: key_at,
                stamp: Stamp::Key { record },
            });
            slots.push(Slot {
                at: time_at,
                stamp: Stamp::Time,
            });
        }
        let records =
            u32::try_from(body.slots.len()).expect("a study's records per request are a u32");
        let content = Content {
            filled: Filled {
                bytes: body.bytes.clone(),
                slots,
            },
            records,
            content_type: Some(content_type),
        };
        self.message(content, value)
    }

    fn message(&self, content: Content, value: &dyn Fn(&str) -> Option<Value>) -> Prepared {
        let mut message = self.head(&content, value);
        message.append(&content.filled);
        let is_key = |slot: &Slot| matches!(slot.stamp, Stamp::Key { .. });
        Prepared {
            records: content
                .records
                .max(u32::from(message.slots.iter().any(is_key))),
            bytes: message.bytes,
            slots: message.slots,
            is_head: self.request.method == "HEAD",
        }
    }

    fn leaves_out(&self, header: &str) -> bool {
        let mut names = self.request.without_headers.iter();
        names.any(|name| name.eq_ignore_ascii_case(header))
    }

    fn head(&self, content: &Content, value: &dyn Fn(&str) -> Option<Value>) -> Filled {
        let has = |wanted: &str| {
            let mut names = self.headers.iter().map(|(name, _)| name);
            names.any(|name| name.eq_ignore_ascii_case(wanted))
        };
        let mut head = Filled::default();
        head.text(&[&self.request.method, " "]);
        put(&self.path, Escape::Path, value, &mut head);
        head.text(&[" HTTP/1.1\r\n"]);
        if !has("host") {
            head.text(&["Host: ", self.host, "\r\n"]);
        }
        if let Some(content_type) = content.content_type
            && !has("content-type")
            && !self.leaves_out("content-type")
        {
            head.text(&["Content-Type: ", content_type, "\r\n"]);
        }
        for (name, text) in &self.headers {
            head.text(&[name, ": "]);
            put(text, Escape::Header, value, &mut head);
            head.text(&["\r\n"]);
        }
        // RFC 9110, 8.6: a method that gives a body a meaning sends its length, even of an empty body.
        let length = content.filled.bytes.len();
        if length > 0 || matches!(&*self.request.method, "PUT" | "POST" | "PATCH") {
            head.text(&["Content-Length: ", &length.to_string(), "\r\n"]);
        }
        head.text(&["\r\n"]);
        head
    }
}

/// A text of a request as a template.
pub(crate) fn template(request: &Request, text: &str) -> Template {
    match request.texts {
        Texts::Plain => Template::literal(text),
        Texts::Templates(_) => {
            Template::parse(text).expect("a checked request's variables are written right")
        }
    }
}

fn put(
    template: &Template,
    place: Escape,
    value: &dyn Fn(&str) -> Option<Value>,
    into: &mut Filled,
) {
    template
        .fill(place, value, into)
        .expect("a checked request names variables that there are");
}

/// The content type of a body of records.
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
    use waggle_study::{Body, BodyExpect, Expect, Request, Texts};

    use super::Message;

    fn request(method: &str, headers: &[(&str, &str)]) -> Request {
        let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Request {
            name: "r".to_owned(),
            method: method.to_owned(),
            path: "/p?q=1".to_owned(),
            headers: headers.iter().map(header).collect(),
            without_headers: Vec::new(),
            body: Body::None,
            texts: Texts::Plain,
            expect: Expect {
                status: Vec::new(),
                body: BodyExpect::Any,
            },
            inspect: None,
            timeout: Duration::from_secs(1),
            from_outside: Vec::new(),
        }
    }

    #[track_caller]
    fn check(method: &str, headers: &[(&str, &str)], body: &str, expected: &str) {
        let request = request(method, headers);
        let prepared = Message::new(&request, "h:1").with_bytes(body.as_bytes(), &|_| None);
        assert_eq!(String::from_utf8(prepared.bytes).unwrap(), expected);
        assert_eq!((prepared.records, prepared.is_head), (0, method == "HEAD"));
    }

    #[test]
    fn heads_have_the_length_if_a_body_is_possible() {
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
        let prepared =
            Message::new(&request("PUT", &[]), "h:1").with_records("text/plain", &body, &|_| None);
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
                Stamp::Uuid => panic!("a record has no UUID"),
            }
        }
        let keys = prepared.slots.iter().filter_map(|slot| match slot.stamp {
            Stamp::Key { record } => Some(record),
            Stamp::Time | Stamp::Uuid => None,
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
