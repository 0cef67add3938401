//! Parsers of flag values, each with a message that says what was expected.

use std::time::Duration;

use clap::ValueEnum;
use waggle_spec::{LevelKind, RecordsFormat, TUNNEL_METHOD, TUNNEL_OBJECTION, Think};
use waggle_study::HeaderLimits;
use waggle_units::{parse_duration, parse_rate, parse_share, parse_size};

use super::bad_value::BadValue;

/// Maximum length of a load; a longer one is probably a wrong unit.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Minimum length of a load: an interval of the load generator.
pub(crate) const DURATION_MIN: Duration = INTERVAL_MIN;
/// Maximum interval of the load generator.
pub(crate) const INTERVAL_MIN: Duration = Duration::from_millis(10);
/// Maximum timeout: response times are recorded up to an hour.
const TIMEOUT_MAX: Duration = Duration::from_secs(3600);
const WORKERS_MAX: u32 = 900;

/// What `--search` maximizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchVariable {
    /// Requests per second (open load)
    Rate,
    /// Users, each with its own connection
    Users,
    /// Connections (closed load)
    Connections,
}

impl SearchVariable {
    pub(crate) fn level_kind(self) -> LevelKind {
        match self {
            Self::Rate => LevelKind::Rate,
            Self::Users => LevelKind::Users,
            Self::Connections => LevelKind::Connections,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsName {
    /// Exponentially distributed intervals, as from independent clients
    Poisson,
    /// Equal intervals
    Uniform,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpVersion {
    /// HTTP/1.1
    #[value(name = "1.1")]
    Http1,
    /// HTTP/2: over TLS by ALPN, else by prior knowledge
    #[value(name = "2")]
    Http2,
    /// Over TLS HTTP/2 if the server chooses it (ALPN), else HTTP/1.1
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    LineProtocol,
    Ndjson,
    Json,
    Csv,
}

impl From<FormatName> for RecordsFormat {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::LineProtocol => Self::LineProtocol,
            FormatName::Ndjson => Self::Ndjson,
            FormatName::Json => Self::Json,
            FormatName::Csv => Self::Csv,
        }
    }
}

/// What separates the cells of CSV.
pub(crate) fn delimiter(text: &str) -> Result<char, BadValue> {
    match text {
        "," | ";" | "|" | "\t" => Ok(text.chars().next().unwrap_or(',')),
        "tab" | "\\t" => Ok('\t'),
        _ => Err("expected , ; | or tab".into()),
    }
}

/// A think time with its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThinkText {
    pub(crate) think: Think,
    pub(crate) text: String,
}

/// One stage of a load: its duration, and the rate or number of users at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StageText {
    pub(crate) over: Duration,
    pub(crate) to: f64,
}

/// CPUs for `--pin`; empty: the default ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuChoice(pub(crate) Vec<usize>);

/// One `--header`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderText {
    pub(crate) name: String,
    /// `None`: the header is not sent.
    pub(crate) value: Option<String>,
}

/// One `--expect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expectation {
    Status(Vec<u16>),
    BodyEquals(String),
    BodyContains(String),
}

/// `30s`, `2m`, or seconds as wrk and curl write them.
pub(crate) fn duration(text: &str) -> Result<Duration, BadValue> {
    let bare = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read = if bare {
        parse_duration(&format!("{text}s"))
    } else {
        parse_duration(text)
    };
    read.ok_or_else(|| "expected a time such as 500ms, 30s, 2m or 1h, a week at most".into())
}

/// A duration. In curl, oha and hey `-d` is the body, so the error message names the flag for the body.
pub(crate) fn duration_of_load(text: &str) -> Result<Duration, BadValue> {
    let read = duration(text).map_err(|message| {
        format!("{message}; -d is the duration, as in wrk; for a body write --data, as in curl")
    })?;
    if read < DURATION_MIN {
        return Err("a load shorter than 10ms cannot be measured".into());
    }
    Ok(read)
}

pub(crate) fn timeout(text: &str) -> Result<Duration, BadValue> {
    let read = duration(text)?;
    if (Duration::from_millis(1)..=TIMEOUT_MAX).contains(&read) {
        Ok(read)
    } else {
        Err("expected a time from 1ms to 1h".into())
    }
}

pub(crate) fn interval(text: &str) -> Result<Duration, BadValue> {
    let read = duration(text)?;
    if read >= INTERVAL_MIN {
        Ok(read)
    } else {
        Err("expected a time of at least 10ms".into())
    }
}

pub(crate) fn rate(text: &str) -> Result<f64, BadValue> {
    parse_rate(text)
        .filter(|rate| *rate > 0.0)
        .ok_or_else(|| "expected requests per second, such as 1000, 1000/s or 90/m".into())
}

/// A share: `5%` or `0.05`.
pub(crate) fn share(text: &str) -> Result<f64, BadValue> {
    parse_share(text)
        .filter(|share| *share > 0.0)
        .ok_or_else(|| "expected a share such as 5% or 0.05".into())
}

/// The path of a metric: `response_time.p99`.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the form of a parser of arguments; whether a run has the metric is known later"
)]
pub(crate) fn metric_path(text: &str) -> Result<Vec<String>, BadValue> {
    Ok(text.split('.').map(ToOwned::to_owned).collect())
}

/// A margin around a ratio of 1: `5%` or `0.05`; 0 too.
pub(crate) fn margin(text: &str) -> Result<f64, BadValue> {
    parse_share(text)
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "expected a share below 1, such as 5%, 0.05 or 0".into())
}

/// A limit on the head of an answer.
pub(crate) fn header_size(text: &str) -> Result<u64, BadValue> {
    let bytes = parse_size(text).ok_or("expected a size such as 256KiB")?;
    HeaderLimits::check_bytes(bytes).map_err(|expected| format!("expected {expected}").into())
}

/// A date, or the start of a time in RFC 3339, UTC, which sorts like the time: `2026-01-02`, `2026-01-02T03:04`.
pub(crate) fn date(text: &str) -> Result<String, BadValue> {
    const FORM: &str = "0000-00-00T00:00:00";
    let stamp = text.strip_suffix('Z').unwrap_or(text);
    let is_like = |(letter, form): (char, char)| match form {
        '0' => letter.is_ascii_digit(),
        _ => letter == form,
    };
    let is_date =
        [10, 16, 19].contains(&stamp.len()) && stamp.chars().zip(FORM.chars()).all(is_like);
    match is_date {
        true => Ok(stamp.to_owned()),
        false => {
            Err("expected a date or a time, UTC, such as 2026-01-02 or 2026-01-02T03:04".into())
        }
    }
}

/// `1s`, `exp:1s`, `uniform:1s..3s`.
pub(crate) fn think_time(text: &str) -> Result<ThinkText, BadValue> {
    let think = match text.split_once(':') {
        None => Think::Fixed(duration(text)?),
        Some(("exp", mean)) => Think::Exponential(duration(mean)?),
        Some(("uniform", bounds)) => {
            let (from, to) = bounds
                .split_once("..")
                .ok_or("expected uniform:MIN..MAX, such as uniform:1s..3s")?;
            let (from, to) = (duration(from)?, duration(to)?);
            if from > to {
                return Err("the minimum is longer than the maximum".into());
            }
            Think::Uniform { from, to }
        }
        Some(_) => return Err("expected 1s, exp:1s or uniform:1s..3s".into()),
    };
    Ok(ThinkText {
        think,
        text: text.to_owned(),
    })
}

/// A number of threads. In oha and hey `-t` is the timeout, so the error message names that flag.
pub(crate) fn workers(text: &str) -> Result<u32, BadValue> {
    text.parse()
        .ok()
        .filter(|workers| (1..=WORKERS_MAX).contains(workers))
        .ok_or_else(|| {
            format!("expected a number of threads from 1 to {WORKERS_MAX}, as in wrk; for a limit on the time to the answer write --timeout").into()
        })
}

pub(crate) fn method(text: &str) -> Result<String, BadValue> {
    const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~";
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || TOKEN.contains(&byte);
    if text == TUNNEL_METHOD {
        return Err(format!("{TUNNEL_OBJECTION}; expected a method such as GET").into());
    }
    if !text.is_empty()
        && text.bytes().all(is_token)
        && !text.bytes().all(|byte| byte.is_ascii_digit())
    {
        Ok(text.to_owned())
    } else {
        Err(
            "expected a method such as GET; for a limit on the time to the answer write --timeout"
                .into(),
        )
    }
}

/// wrk's `-s FILE.lua`. Here `-s` is curl's flag without a value, so the file is parsed as a URL.
fn is_script(text: &str) -> bool {
    text.ends_with(".lua")
}

const NO_SCRIPT: &str = "wrk scripts are not supported; for several requests, checks and variables write --scenario FILE";

pub(crate) fn url(text: &str) -> Result<String, BadValue> {
    if is_script(text) && !text.contains("://") {
        Err(NO_SCRIPT.into())
    } else {
        Ok(text.to_owned())
    }
}

pub(crate) fn no_second_url(text: &str) -> Result<String, BadValue> {
    Err(if is_script(text) {
        NO_SCRIPT.into()
    } else {
        format!(
            "expected one URL, found a second one: {text:?}; for a folder write --save={text}; --help lists all options"
        )
        .into()
    })
}

/// `Name: value`; as in curl, `Name:` removes the header and `Name;` sends it without a value.
pub(crate) fn header(text: &str) -> Result<HeaderText, BadValue> {
    let (name, value) = match (text.split_once(':'), text.strip_suffix(';')) {
        (Some((name, value)), _) => (name, Some(value.trim()).filter(|value| !value.is_empty())),
        (None, Some(name)) => (name, Some("")),
        (None, None) => return Err("expected NAME: VALUE, such as 'Accept: text/plain'".into()),
    };
    let name = http::HeaderName::from_bytes(name.trim().as_bytes())
        .map(|_| name.trim())
        .map_err(|_| format!("{name:?} is not a header name"))?;
    if value
        .unwrap_or_default()
        .bytes()
        .any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
    {
        return Err("a header value must not contain line ends or control characters".into());
    }
    for (field, instead) in [
        ("content-length", "it is computed from the body"),
        ("transfer-encoding", "bodies are sent with Content-Length"),
    ] {
        if name.eq_ignore_ascii_case(field) {
            return Err(format!("{field} cannot be set: {instead}").into());
        }
    }
    if value.is_none() && name.eq_ignore_ascii_case("host") {
        return Err("HTTP/1.1 requires a Host header".into());
    }
    Ok(HeaderText {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    })
}

pub(crate) fn user(text: &str) -> Result<String, BadValue> {
    if text.contains(':') {
        Ok(text.to_owned())
    } else {
        Err("expected NAME:PASSWORD, as in curl; for a number of users write --users".into())
    }
}

impl StageText {
    pub(crate) fn parse(text: &str) -> Result<Self, BadValue> {
        const SHAPE: &str = "expected DURATION:TARGET, such as 10s:1000";
        let (over, to) = text.split_once(':').ok_or(SHAPE)?;
        Ok(Self {
            over: duration(over)?,
            to: parse_rate(to).ok_or(SHAPE)?,
        })
    }
}

impl CpuChoice {
    fn new(cpus: Vec<usize>) -> Self {
        Self(cpus)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, BadValue> {
        if text.is_empty() {
            return Ok(Self::new(Vec::new()));
        }
        text.split(',')
            .map(|cpu| {
                cpu.trim()
                    .parse()
                    .map_err(|_| format!("{cpu:?} is not a CPU number").into())
            })
            .collect::<Result<_, _>>()
            .map(Self::new)
    }
}

impl Expectation {
    pub(crate) fn parse(text: &str) -> Result<Self, BadValue> {
        if let Some(body) = text.strip_prefix("body_equals=") {
            return Ok(Self::BodyEquals(body.to_owned()));
        }
        if let Some(part) = text.strip_prefix("body_contains=") {
            return Ok(Self::BodyContains(part.to_owned()));
        }
        let code = |code: &str| {
            code.trim()
                .parse()
                .ok()
                .filter(|code| (100..1000).contains(code))
                .ok_or_else(|| {
                    format!("{code:?} is not a status; expected STATUS[,STATUS…], body_equals=TEXT or body_contains=TEXT").into()
                })
        };
        text.split(',')
            .map(code)
            .collect::<Result<_, _>>()
            .map(Self::Status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_with_and_without_unit() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                duration(text).ok(),
                expected.map(Duration::from_millis),
                "{text}"
            );
        };
        check("30s", Some(30_000));
        check("30", Some(30_000));
        check("1.5", Some(1_500));
        check("250ms", Some(250));
        check("2m", Some(120_000));
        check("", None);
        check("x", None);
        check("{\"a\":1}", None);
    }

    #[test]
    fn think_times_are_parsed() {
        let check = |text: &str, expected: Option<Think>| {
            assert_eq!(
                think_time(text).ok().map(|read| read.think),
                expected,
                "{text}"
            );
        };
        let second = Duration::from_secs(1);
        check("1s", Some(Think::Fixed(second)));
        check("exp:1s", Some(Think::Exponential(second)));
        let uniform = Think::Uniform {
            from: second,
            to: 3 * second,
        };
        check("uniform:1s..3s", Some(uniform));
        check("uniform:3s..1s", None);
        check("uniform:1s", None);
        check("normal:1s", None);
    }

    #[test]
    fn methods_are_tokens_that_open_no_tunnel() {
        let check = |text: &str, expected: Option<&str>| {
            let error = method(text).err().map(|error| error.to_string());
            let is_expected = match (&error, expected) {
                (None, None) => true,
                (Some(error), Some(expected)) => error.contains(expected),
                _ => false,
            };
            assert!(is_expected, "{text}: {error:?}");
        };
        check("GET", None);
        check("purge", None);
        check("CONNECT", Some("CONNECT opens a tunnel"));
        check("10", Some("--timeout"));
        check("A B", Some("expected a method"));
        check("", Some("expected a method"));
    }

    #[test]
    fn expectations_are_parsed() {
        let check = |text: &str, expected: Option<Expectation>| {
            assert_eq!(Expectation::parse(text).ok(), expected, "{text}");
        };
        check("200", Some(Expectation::Status(vec![200])));
        check("200,204", Some(Expectation::Status(vec![200, 204])));
        let equals = Expectation::BodyEquals("a,b".to_owned());
        check("body_equals=a,b", Some(equals));
        let contains = Expectation::BodyContains("ok".to_owned());
        check("body_contains=ok", Some(contains));
        check("20", None);
        check("ok", None);
        check("", None);
    }

    #[test]
    fn headers_are_parsed() {
        let check = |text: &str, expected: Option<(&str, Option<&str>)>| {
            let read = header(text).ok();
            let read = read
                .as_ref()
                .map(|read| (&*read.name, read.value.as_deref()));
            assert_eq!(read, expected, "{text}");
        };
        check("Accept: text/plain", Some(("Accept", Some("text/plain"))));
        check("X-A:", Some(("X-A", None)));
        check("X-A;", Some(("X-A", Some(""))));
        check("X-A: b;", Some(("X-A", Some("b;"))));
        check("Host:", None);
        check("no colon", None);
        check("bad name: x", None);
        check("A: b\r\nC: d", None);
        check("Content-Length: 3", None);
    }
}
