//! Interprets the database's answer to a write. No I/O.

use std::time::{Duration, SystemTime};

use waggle_record::line_protocol::{self, RawValue, measurement_text, name_text};

/// Longest message of the database that is kept, in characters.
const MESSAGE_MAX: usize = 1024;

/// Outcome of a write for its lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// All are in the database.
    Written,
    /// At least one line is refused for good; the others may be in the database or not.
    Refused(Refusal),
    /// The body is too large.
    TooLarge(String),
    /// The request is refused until a person fixes something: a wrong token, a missing bucket.
    Denied(String),
    /// A retry may succeed.
    Later {
        reason: String,
        /// The wait that the database asks for.
        wait: Option<Duration>,
    },
}

/// Why lines were refused, from the database's message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    /// Number of dropped lines, if the message has it.
    pub(crate) dropped: Option<usize>,
    /// The common cause of the lines.
    pub(crate) cause: Cause,
}

/// The common cause of refused lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cause {
    /// A field whose value has another type in the database.
    Conflict {
        measurement: String,
        field: String,
        kind: String,
    },
    /// A time before the bucket's retention, in nanoseconds.
    TooOld { first_ns: i128 },
    /// A mistake in the lines, without details.
    Line,
    /// Possibly a mistake of the whole request.
    Unknown,
}

/// The relevant parts of an answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// Interprets an answer.
pub(crate) fn verdict(answer: &Answer<'_>, now: SystemTime) -> Verdict {
    let status = answer.status;
    let reason = || format!("{status}: {}", message(answer.body));
    match status {
        200..=299 => Verdict::Written,
        400 | 422 => Verdict::Refused(refusal(message(answer.body))),
        413 => Verdict::TooLarge(reason()),
        408 | 425 | 429 | 500..=599 => Verdict::Later {
            reason: reason(),
            wait: answer.retry_after.and_then(|text| retry_after(text, now)),
        },
        _ => Verdict::Denied(reason()),
    }
}

/// The message of an InfluxDB error, or the body as it is.
fn message(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Error {
        message: String,
    }
    let text = match serde_json::from_slice(body) {
        Ok(Error { message }) => message,
        Err(_) => String::from_utf8_lossy(body).trim().to_owned(),
    };
    match text.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Seconds or a date (RFC 9110, 10.2.3).
fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn refusal(reason: String) -> Refusal {
    let dropped = text_between(&reason, "dropped=", |byte| !byte.is_ascii_digit());
    Refusal {
        dropped: dropped.and_then(|digits| digits.parse().ok()),
        cause: cause(&reason),
        reason,
    }
}

fn cause(reason: &str) -> Cause {
    if let Some(cause) = conflict(reason).or_else(|| too_old(reason)) {
        return cause;
    }
    let of_lines = [
        "unable to parse",
        "partial write",
        "field type conflict",
        "retention policy",
    ];
    if of_lines.iter().any(|text| reason.contains(text)) {
        Cause::Line
    } else {
        Cause::Unknown
    }
}

/// `input field "v" on measurement "m" is type string, already exists as type float`; names that Go has escaped are not
/// recognized.
fn conflict(reason: &str) -> Option<Cause> {
    let (_, rest) = reason.split_once("field type conflict: input field \"")?;
    let (field, rest) = rest.split_once("\" on measurement \"")?;
    let (measurement, rest) = rest.split_once("\" is type ")?;
    let (kind, _) = rest.split_once(", already exists as type ")?;
    let is_plain = |name: &str| !name.contains(['\\', '"']);
    (is_plain(field) && is_plain(measurement)).then(|| Cause::Conflict {
        measurement: measurement.to_owned(),
        field: field.to_owned(),
        kind: kind.to_owned(),
    })
}

/// `… dropped because it violates a Retention Policy Lower Bound at 2025-05-20T19:06:17.612973Z, …`
fn too_old(reason: &str) -> Option<Cause> {
    let bound = text_between(reason, "Retention Policy Lower Bound at ", |byte| {
        matches!(byte, b',' | b' ')
    })?;
    let first: jiff::Timestamp = bound.parse().ok()?;
    Some(Cause::TooOld {
        first_ns: first.as_nanosecond(),
    })
}

/// The text after the first `before`, up to a byte that ends it.
fn text_between<'a>(text: &'a str, before: &str, ends: impl Fn(u8) -> bool) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    let end = rest.bytes().position(ends).unwrap_or(rest.len());
    Some(&rest[..end])
}

impl Refusal {
    /// Whether the refusal names the line.
    pub(crate) fn means(&self, line: &[u8]) -> bool {
        let Some(Ok(line)) = line_protocol::lines(line).next() else {
            return false;
        };
        match &self.cause {
            Cause::Conflict {
                measurement,
                field,
                kind,
            } => {
                measurement_text(line.measurement()) == *measurement
                    && line
                        .fields()
                        .any(|pair| kind_of(pair.value) == kind && name_text(pair.key) == *field)
            }
            Cause::TooOld { first_ns } => line
                .time
                .is_some_and(|time| i128::from(time.value) < *first_ns),
            Cause::Line | Cause::Unknown => false,
        }
    }
}

/// InfluxDB's name of a value's type.
fn kind_of(value: RawValue<'_>) -> &'static str {
    match value {
        RawValue::Float(_) => "float",
        RawValue::Integer(_) => "integer",
        RawValue::Unsigned(_) => "unsigned",
        RawValue::Boolean(_) => "boolean",
        RawValue::Text(_) => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_on(status: u16, retry_after: Option<&str>, body: &str) -> Verdict {
        let answer = Answer {
            status,
            retry_after,
            body: body.as_bytes(),
        };
        // Sunday, 22 November 2026, 05:00:00.
        verdict(
            &answer,
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_323_600),
        )
    }

    fn parse_refusal(body: &str) -> Refusal {
        match verdict_on(422, None, body) {
            Verdict::Refused(refusal) => refusal,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn status_decides_the_verdict() {
        assert_eq!(verdict_on(204, None, ""), Verdict::Written);
        for status in [401, 403, 404, 405, 301] {
            assert!(
                matches!(verdict_on(status, None, "x"), Verdict::Denied(_)),
                "{status}"
            );
        }
        for status in [400, 422] {
            assert!(
                matches!(verdict_on(status, None, "x"), Verdict::Refused(_)),
                "{status}"
            );
        }
        assert_eq!(
            verdict_on(413, None, "no"),
            Verdict::TooLarge("413: no".into())
        );
        for status in [408, 429, 500, 502, 503, 504] {
            assert!(
                matches!(
                    verdict_on(status, None, "x"),
                    Verdict::Later { wait: None, .. }
                ),
                "{status}"
            );
        }
        assert_eq!(
            verdict_on(
                401,
                None,
                r#"{"code":"unauthorized","message":"unauthorized access"}"#
            ),
            Verdict::Denied("401: unauthorized access".into())
        );
    }

    #[test]
    fn retry_after_is_parsed() {
        let check = |text, seconds: Option<u64>| {
            let expected = seconds.map(Duration::from_secs);
            match verdict_on(429, Some(text), "") {
                Verdict::Later { wait, .. } => assert_eq!(wait, expected, "{text}"),
                other => panic!("{other:?}"),
            }
        };
        check("30", Some(30));
        check("Sun, 22 Nov 2026 05:00:07 GMT", Some(7));
        check("Sun, 22 Nov 2026 04:00:00 GMT", Some(0));
        check("soon", None);
    }

    #[test]
    fn a_long_answer_is_shortened() {
        match verdict_on(503, None, &"ä".repeat(5000)) {
            Verdict::Later { reason, .. } => {
                assert_eq!(reason.chars().count(), 5 + MESSAGE_MAX + 1)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn field_type_conflict_names_its_lines() {
        let refusal = parse_refusal(
            r#"{"code":"unprocessable entity","message":"failure writing points to database: partial write: field type conflict: input field \"v\" on measurement \"m x\" is type string, already exists as type float dropped=2"}"#,
        );
        assert_eq!(refusal.dropped, Some(2));
        assert!(refusal.means(b"m\\ x,a=b u=1,v=\"1\" 1"));
        for other in [
            "m\\ x v=1 1",
            "m v=\"1\" 1",
            "m\\ x u=\"1\" 1",
            "m\\ x v=1i 1",
        ] {
            assert!(!refusal.means(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn retention_bound_names_its_lines() {
        let refusal = parse_refusal(
            r#"{"message":"failure writing points to database: partial write: dropped 4 points outside retention policy of duration 24h0m0s - oldest point home at 1970-01-01T00:00:01.541Z dropped because it violates a Retention Policy Lower Bound at 2025-05-20T19:06:17.612973Z, newest point home at 1970-01-01T00:00:01.5410006Z dropped because it violates a Retention Policy Lower Bound at 2025-05-20T19:06:17.612973Z dropped=4 for database: 9f282d63c7d3a5c0 for retention policy: autogen"}"#,
        );
        assert_eq!(refusal.dropped, Some(4));
        assert!(refusal.means(b"m v=1 1747767977612972999"));
        assert!(!refusal.means(b"m v=1 1747767977612973000"));
    }

    #[test]
    fn mistakes_of_lines_and_of_the_request_are_distinguished() {
        let cause = |text: &str| parse_refusal(text).cause;
        assert_eq!(cause("unable to parse 'x': missing fields"), Cause::Line);
        assert_eq!(
            cause("partial write: points beyond retention policy dropped=3"),
            Cause::Line
        );
        assert_eq!(cause("Please provide either orgID or org"), Cause::Unknown);
        // A name that Go has escaped.
        assert_eq!(
            cause(
                r#"field type conflict: input field "a\\b" on measurement "m" is type string, already exists as type float dropped=1"#
            ),
            Cause::Line
        );
    }
}
