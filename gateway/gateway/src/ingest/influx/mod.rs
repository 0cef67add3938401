//! The calls by which clients of InfluxDB write: `/write` (version 1), `/api/v2/write`, `/api/v3/write_lp`, and what they ask before.
//!
//! `parameters` reads what a write asks for, `unit` its times, `refusal` says in the version's own form why not, and `create_database`
//! reads the one statement that is answered. The records take the way of all others, `ingest`; nothing is stored for InfluxDB alone.

mod create_database;
mod parameters;
pub(crate) mod refusal;

use std::borrow::Cow;

pub(crate) use create_database::{Statement, read_statement};
pub(crate) use parameters::{form_value, read_write};

use crate::{
    answers::answer::{AnswerHead, Canned},
    http1::{Head, Persistence},
    ingest,
};

pub(crate) const V1_WRITE_PATH: &str = "/write";
pub(crate) const V1_QUERY_PATH: &str = "/query";
pub(crate) const V2_WRITE_PATH: &str = "/api/v2/write";
pub(crate) const V3_WRITE_PATH: &str = "/api/v3/write_lp";
pub(crate) const PING_PATH: &str = "/ping";
pub(crate) const HEALTH_PATH: &str = "/health";

/// What the gateway says in `X-Influxdb-Version`, which clients show and do not judge.
pub(crate) const VERSION: &str = concat!("waggle-gateway-", env!("CARGO_PKG_VERSION"));
pub(crate) const VERSION_FIELD: &str = "x-influxdb-version";

/// The version of InfluxDB that a client speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    V1,
    V2,
    V3,
}

impl Protocol {
    /// That of a path.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        match path {
            V1_WRITE_PATH | V1_QUERY_PATH | PING_PATH => Some(Self::V1),
            V2_WRITE_PATH | HEALTH_PATH => Some(Self::V2),
            V3_WRITE_PATH => Some(Self::V3),
            _ => None,
        }
    }

    /// That of a target.
    pub(crate) fn from_target(target: &str) -> Option<Self> {
        Self::from_path(split_target(target)?.0)
    }

    /// That of the request that begins here, whose head need be neither complete nor right.
    pub(crate) fn from_input(input: &[u8]) -> Option<Self> {
        let line = input.trim_ascii_start();
        let line = &line[..memchr::memchr2(b'\r', b'\n', line).unwrap_or(line.len())];
        let mut words = line.split(|byte| *byte == b' ');
        let target = words.nth(1)?;
        Self::from_target(std::str::from_utf8(target).ok()?)
    }

    /// The answer to a write whose records are durable.
    pub(crate) fn no_content(self, canned: &Canned, out: &mut Vec<u8>, persistence: Persistence) {
        let head = AnswerHead {
            status: 204,
            fields: self.fields_of_no_content(),
            length: None,
            persistence,
        };
        canned.head(out, &head);
    }

    /// The fields of that answer.
    pub(crate) fn fields_of_no_content(self) -> &'static [(&'static str, &'static [u8])] {
        const VERSION_ALONE: &[(&str, &[u8])] = &[(VERSION_FIELD, VERSION.as_bytes())];
        match self {
            Self::V1 | Self::V2 => VERSION_ALONE,
            Self::V3 => &[],
        }
    }
}

/// Whether writes of records go to this path.
pub(crate) fn is_write_path(path: &str) -> bool {
    matches!(path, V1_WRITE_PATH | V2_WRITE_PATH | V3_WRITE_PATH)
}

/// Whether clients ask there if the server is alive, without a token.
pub(crate) fn is_probe(target: &str) -> bool {
    let path = split_target(target).map(|(path, _)| path);
    matches!(path, Some(PING_PATH | HEALTH_PATH))
}

/// The version and query of a request that writes.
pub(crate) fn write_call<'a>(head: &Head<'a, '_>) -> Option<(Protocol, &'a str)> {
    let (path, query) = split_target(head.target)?;
    let is_write = head.method == "POST" && is_write_path(path);
    is_write.then_some(())?;
    Some((Protocol::from_path(path)?, query))
}

/// The `Authorization` that the parameter `p` of version 1 stands for, if the request has none of its own. It is a secret.
pub(crate) fn authorization(head: &Head<'_, '_>) -> Option<Vec<u8>> {
    if head.sender.authorization.is_some() {
        return None;
    }
    let (path, query) = split_target(head.target)?;
    matches!(path, V1_WRITE_PATH | V1_QUERY_PATH).then_some(())?;
    let password: Cow<'_, str> = form_value(query, "p").filter(|password| !password.is_empty())?;
    Some([b"Token ", password.as_bytes()].concat())
}

/// Path and query of a target that is a path or a URL.
fn split_target(target: &str) -> Option<(&str, &str)> {
    let path = ingest::origin_form(target)?;
    Some(path.split_once('?').unwrap_or((path, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_path() {
        let check = |target: &str, expected: Option<Protocol>| {
            assert_eq!(Protocol::from_target(target), expected, "{target}");
        };
        check("/write?db=a", Some(Protocol::V1));
        check("http://a/write?db=a", Some(Protocol::V1));
        check("/query", Some(Protocol::V1));
        check("/api/v2/write", Some(Protocol::V2));
        check("/api/v3/write_lp?db=x", Some(Protocol::V3));
        check("/writes", None);
        check("/write/", None);
        check("/api/v1/topics/write/records", None);
        check("*", None);
        assert!(is_probe("/ping?verbose=true") && is_probe("/health"));
        assert!(!is_probe("/healthz") && !is_probe("/write"));
    }

    #[test]
    fn the_version_is_known_before_the_head_is_complete() {
        let check = |input: &[u8], expected: Option<Protocol>| {
            assert_eq!(Protocol::from_input(input), expected);
        };
        check(b"\r\nPOST /write?db=a HTTP/1.1\r\nHost", Some(Protocol::V1));
        check(b"POST /api/v2/write", Some(Protocol::V2));
        check(b"POST", None);
        check(b"", None);
        check(b"\xff \xff \xff", None);
    }
}
