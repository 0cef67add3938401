//! The calls that write records: recognizes requests of the gateway's own one and turns bodies into entries of the log.
//!
//! `influx` has the calls of InfluxDB, `encoding` decodes compressed bodies, [`Unit`] is that of times.
//!
//! This is the gateway's hot path: in the steady state a body of line protocol is checked and copied once, without allocation.

pub(crate) mod encoding;
pub(crate) mod influx;
mod unit;

pub(crate) use unit::Unit;

use std::{
    borrow::Cow,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use waggle_record::{
    MISTAKES_MAX, Mistake, Precision, Record,
    line_protocol::{self, Line},
};

use crate::answers::problem::Problem;

/// Longest name of a topic.
pub(crate) const TOPIC_MAX_BYTES: usize = 200;

/// The target of a request that writes records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ingest<'a> {
    pub(crate) topic: &'a str,
    pub(crate) query: &'a str,
}

/// The topic and query of a target, if it is `/api/v1/topics/{topic}/records`, possibly in absolute form, which every server
/// accepts (RFC 9112, section 3.2.2).
pub(crate) fn records_target(target: &str) -> Option<Ingest<'_>> {
    let rest = origin_form(target)?.strip_prefix("/api/v1/topics/")?;
    let end = memchr::memchr(b'/', rest.as_bytes())?;
    let query = match rest[end..].strip_prefix("/records")? {
        "" => "",
        more => more.strip_prefix('?')?,
    };
    Some(Ingest {
        topic: &rest[..end],
        query,
    })
}

/// Path and query of a target that is a path or a URL of http.
pub(crate) fn origin_form(target: &str) -> Option<&str> {
    if target.starts_with('/') {
        return Some(target);
    }
    let (scheme, rest) = target.split_once("://")?;
    let is_http = ["http", "https"].map(|known| scheme.eq_ignore_ascii_case(known));
    is_http.contains(&true).then_some(())?;
    Some(&rest[memchr::memchr3(b'/', b'?', b'#', rest.as_bytes())?..])
}

/// Refuses an invalid topic name.
pub(crate) fn check_topic(topic: &str) -> Result<(), Problem> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    // Clients resolve dots in paths, so such a topic could not be read.
    let is_path = matches!(topic, "." | "..");
    if (1..=TOPIC_MAX_BYTES).contains(&topic.len()) && topic.bytes().all(allowed) && !is_path {
        return Ok(());
    }
    Err(Problem::new(
        400,
        format!(
            "a topic's name is 1 to {TOPIC_MAX_BYTES} of the characters A-Z a-z 0-9 . _ -, not . or .."
        ),
    ))
}

/// How far the times may be ahead of the server's clock before they follow it back.
const AHEAD_MAX_NS: i64 = 1_000_000_000;
/// Times are multiples of this, plus the number of times that the clock was set back, modulo this.
const STEP_NS: i64 = 8;

/// What is wrong with a time that is too far ahead.
const AHEAD: &str = "expected a time that is not further ahead of the gateway's clock than it allows (--time-ahead-max)";

/// Times for records without one: the server's clock, each value once.
///
/// Under a burst they run ahead of the clock. If the clock is set back by more than a second, they follow it; the remainder
/// of the division by [`STEP_NS`] then changes, so that they differ from those that were given before.
#[derive(Debug)]
pub(crate) struct UniqueClock {
    last: AtomicI64,
    set_back: AtomicU64,
    /// Latest time that a record may bring.
    latest: AtomicI64,
}

impl Default for UniqueClock {
    fn default() -> Self {
        Self {
            last: AtomicI64::new(0),
            set_back: AtomicU64::new(0),
            latest: AtomicI64::new(i64::MAX),
        }
    }
}

impl UniqueClock {
    /// Refuses times of records that are further ahead of `now`, until the next call.
    pub(crate) fn allow_ahead(&self, now: SystemTime, ahead: Duration) {
        let latest = now.duration_since(UNIX_EPOCH).unwrap_or_default() + ahead;
        let latest = i64::try_from(latest.as_nanos()).unwrap_or(i64::MAX);
        self.latest.store(latest, Ordering::Relaxed);
    }

    fn next(&self) -> i64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
            });
        self.next_at(now)
    }

    fn next_at(&self, now: i64) -> i64 {
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(time_after(last, now))
            })
            .unwrap_or_else(|last| last);
        let time = time_after(last, now);
        if time < last {
            self.set_back.fetch_add(1, Ordering::Relaxed);
            waggle_service::log::warn(format_args!(
                "the clock was set back: times of records without one go back by {:?}",
                Duration::from_nanos(last.abs_diff(time))
            ));
        }
        time
    }

    /// How often the times went back with the clock.
    pub(crate) fn times_set_back(&self) -> u64 {
        self.set_back.load(Ordering::Relaxed)
    }
}

/// The time to give at `now`, after `last` was given.
fn time_after(last: i64, now: i64) -> i64 {
    let remainder = last % STEP_NS;
    let now = now - now % STEP_NS;
    match last.checked_add(STEP_NS) {
        _ if now > last => now + remainder,
        Some(next) if last.saturating_sub(now) <= AHEAD_MAX_NS => next,
        _ => now + (remainder + 1) % STEP_NS,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    LineProtocol,
    Json,
    Ndjson,
    /// None is named, or one that says nothing, as that of curl's `--data-binary`: read as line protocol.
    Unknown,
}

/// Receives checked records one by one; `'a` is the body that they borrow from.
pub(crate) trait Intake<'a> {
    /// Adds a record with its time.
    fn add(&mut self, line: &Line<'a>, time_ns: i64) -> Result<(), Problem>;
}

/// A body without its coding, and what says how to read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) kind: Kind<'a>,
}

/// What says how to read a body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Query and Content-Type of a request.
    Typed {
        query: &'a str,
        content_type: Option<&'a [u8]>,
    },
    /// It is line protocol with times of this unit, as clients of InfluxDB send it.
    Lines(Unit),
}

/// The records of a body, as text with one line for each.
pub(crate) struct Body<'a> {
    text: Cow<'a, [u8]>,
    unit: Unit,
    /// Whether no type says that it is line protocol.
    is_assumed: bool,
}

/// Checks the format of a body; other formats are converted to line protocol.
pub(crate) fn body(content: Content<'_>) -> Result<Body<'_>, Problem> {
    let Content { body, kind } = content;
    let (query, content_type) = match kind {
        Kind::Typed {
            query,
            content_type,
        } => (query, content_type),
        Kind::Lines(unit) => {
            return Ok(Body {
                text: Cow::Borrowed(body),
                unit,
                is_assumed: false,
            });
        }
    };
    let precision = precision(query)?;
    let records = match format(content_type)? {
        format @ (Format::LineProtocol | Format::Unknown) => {
            return Ok(Body {
                text: Cow::Borrowed(body),
                unit: Unit::Precision(precision),
                is_assumed: format == Format::Unknown,
            });
        }
        Format::Json => waggle_record::json::read(body, precision),
        Format::Ndjson => waggle_record::ndjson::read(body, precision),
    };
    Ok(Body {
        text: Cow::Owned(as_lines(&records.map_err(Problem::mistakes)?)?),
        unit: Unit::Precision(Precision::Nanoseconds),
        is_assumed: false,
    })
}

fn as_lines(records: &[Record]) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    for (index, record) in records.iter().enumerate() {
        line_protocol::write(record, &mut text)
            .map_err(|reason| Problem::new(400, format!("record {}: {reason}", index + 1)))?;
    }
    Ok(text)
}

impl Body<'_> {
    /// Adds every record to `intake`; returns their number. On a problem some may have been added.
    pub(crate) fn give<'a>(
        &'a self,
        intake: &mut impl Intake<'a>,
        clock: &UniqueClock,
    ) -> Result<u32, Problem> {
        let mut mistakes = Vec::new();
        let mut count = 0;
        let latest = clock.latest.load(Ordering::Relaxed);
        for line in line_protocol::lines(&self.text) {
            let read = line.and_then(|line| self.unit.time_ns(&line).map(|time| (line, time)));
            match read {
                Ok((line, Some(time))) if time > latest => {
                    mistakes.push(line.time_mistake(AHEAD.to_owned()));
                }
                Ok((line, time)) if mistakes.is_empty() => {
                    intake.add(&line, time.unwrap_or_else(|| clock.next()))?;
                    count += 1;
                }
                Ok(_) => {}
                Err(mistake) => mistakes.push(mistake),
            }
            if mistakes.len() == MISTAKES_MAX {
                break;
            }
        }
        if mistakes.is_empty() && count == 0 {
            let problem = "expected at least one record, found none".to_owned();
            mistakes.push(Mistake::new(1, 1, problem));
        }
        if mistakes.is_empty() {
            return Ok(count);
        }
        let mut problem = Problem::mistakes(mistakes);
        if self.is_assumed {
            problem.detail += "; the body is read as line protocol, because its Content-Type is neither application/json nor application/x-ndjson";
        }
        Err(problem)
    }
}

/// Drops the records: for a body that is only checked.
pub(crate) struct Nowhere;

impl<'a> Intake<'a> for Nowhere {
    fn add(&mut self, _: &Line<'a>, _: i64) -> Result<(), Problem> {
        Ok(())
    }
}

/// Media types of other formats, which are never line protocol.
const OTHERS: [&[u8]; 12] = [
    b"text/csv",
    b"application/csv",
    b"text/tab-separated-values",
    b"text/xml",
    b"application/xml",
    b"text/html",
    b"application/yaml",
    b"application/x-yaml",
    b"text/yaml",
    b"application/cbor",
    b"application/x-protobuf",
    b"multipart/form-data",
];

/// The format that a Content-Type names.
///
/// # Errors
/// It names one that is not taken.
fn format(content_type: Option<&[u8]>) -> Result<Format, Problem> {
    let Some(value) = content_type else {
        return Ok(Format::Unknown);
    };
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let media_type = value[..end].trim_ascii();
    let is = |name: &[u8]| media_type.eq_ignore_ascii_case(name);
    let is_xml =
        media_type.len() > 4 && media_type[media_type.len() - 4..].eq_ignore_ascii_case(b"+xml");
    if is_xml || OTHERS.into_iter().any(is) {
        let media_type = String::from_utf8_lossy(media_type).to_lowercase();
        return Err(Problem::new(
            415,
            format!(
                "records are taken as line protocol (text/plain), JSON (application/json) or NDJSON (application/x-ndjson), not as {media_type}"
            ),
        ));
    }
    Ok(if is(b"application/json") {
        Format::Json
    } else if is(b"application/x-ndjson") || is(b"application/ndjson") || is(b"application/jsonl") {
        Format::Ndjson
    } else if is(b"text/plain") {
        Format::LineProtocol
    } else {
        Format::Unknown
    })
}

fn precision(query: &str) -> Result<Precision, Problem> {
    if query.is_empty() {
        return Ok(Precision::Nanoseconds);
    }
    let mut choice = None;
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name != "precision" {
            return Err(Problem::new(
                400,
                format!("unknown parameter {name:?}; the only one is precision"),
            ));
        }
        let precision = Precision::from_name(value).ok_or_else(|| {
            Problem::new(400, format!("precision is ns, us, ms or s, not {value:?}"))
        })?;
        if choice.replace(precision).is_some() {
            return Err(Problem::new(400, "precision is given twice"));
        }
    }
    Ok(choice.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const DAY: i64 = 86_400 * SECOND;

    #[test]
    fn times_follow_a_clock_that_was_set_back_and_are_never_given_twice() {
        let (clock, now) = (UniqueClock::default(), 20_000 * DAY + 5);
        let mut given = std::collections::HashSet::new();
        let mut check = |now: i64, ahead_max: i64| {
            let time = clock.next_at(now);
            assert!(given.insert(time), "{time} is given twice");
            assert!((time - now).abs() <= ahead_max, "{time} at {now}");
        };
        for _ in 0..1000 {
            check(now, 8 * 1000);
        }
        // Ahead for one record, as after a wrong answer of a time server.
        check(now + DAY, 8);
        for step in 0..1000 {
            check(now + step, 8 * 1000);
        }
        // A small step back is no reason to leave the order.
        check(now + SECOND, 8);
        check(now + SECOND / 2, SECOND);
        assert_eq!(clock.times_set_back(), 1);
    }

    #[test]
    fn an_absurd_clock_does_not_overflow() {
        let clock = UniqueClock::default();
        assert!(clock.next_at(i64::MAX) > i64::MAX - 16);
        assert!(clock.next_at(i64::MAX) > i64::MAX - 16);
        assert!(clock.next_at(DAY) < 2 * DAY);
    }
}
