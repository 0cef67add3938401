//! The part `background` of a study, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Name, Rate};
use crate::{
    at::{At, Key},
    parts::request::{Expect, Method, Request, feeds::Feed},
};

/// A load that runs beside the measured one, over connections of its own and by a thread of its own. It begins before the warm-up and
/// ends with the measured phase.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Background {
    /// Its name in metrics (`background.NAME.…`) and in the report.
    #[schemars(required)]
    pub name: Key<Name>,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Key<String>,
    /// Connections, each of which sends the next request as soon as the one before is answered. With 0 the load is absent. Either this
    /// or `rate`.
    #[schemars(range(min = 0, max = 100_000))]
    pub connections: Key<u32>,
    /// Requests that fall due at equal distances over up to 50 connections, e.g. `2/s`. With 0/s the load is absent. Either this or
    /// `connections`.
    pub rate: Key<Rate>,
    /// Whether a connection is used for more than one request; true by default, as of the measured load.
    pub keep_alive: Key<bool>,
    /// What is sent again and again. Its path is under exactly one of get, put, post, head, delete, patch and options; or `method` and
    /// `path` are both given.
    #[schemars(required)]
    pub request: Key<BackgroundRequest>,
}

/// The request of a background load, as that of the measured load, without records. Path, values of headers and `body` may have
/// variables: {{feed.column}}, {{random.uuid}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackgroundRequest {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields in addition to those that every request has.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// Rows of values: each request takes one of each feed, in the order cycle or random.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The body as it is sent.
    pub body: Key<String>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Key<Expect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Key<DurationText>,
}

impl BackgroundRequest {
    /// In the form of the measured load's request, with this name.
    pub(crate) fn into_request(self, name: Key<Name>) -> Request {
        Request {
            name,
            method: self.method,
            endpoint: Key::Missing,
            headers: self.headers,
            without_headers: Key::Missing,
            feeds: self.feeds,
            body: self.body,
            body_file: Key::Missing,
            body_random: Key::Missing,
            records: Key::Missing,
            expect: self.expect,
            inspect: Key::Missing,
            timeout: self.timeout,
        }
    }
}
