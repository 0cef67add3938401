//! The part `background` of a study, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Expect, Method, Name, Rate, Request};
use crate::{
    at::{At, Key},
    parts::request::feeds::Feed,
};

/// A load that runs beside the measured one, over connections of its own and by a thread of its own. It begins before the warm-up and
/// ends with the measured phase.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Background {
    /// Its name in metrics (`background.NAME.…`) and in the report.
    #[schemars(required)]
    pub name: Option<Name>,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Option<String>,
    /// Connections, each of which sends the next request as soon as the one before is answered. With 0 the load is absent. Either this
    /// or `rate`.
    #[schemars(range(min = 0, max = 100_000))]
    pub connections: Option<u32>,
    /// Requests that fall due at equal distances over up to 50 connections, e.g. `2/s`. With 0/s the load is absent. Either this or
    /// `connections`.
    pub rate: Option<Rate>,
    /// Whether a connection is used for more than one request; true by default, as of the measured load.
    pub keep_alive: Option<bool>,
    /// What is sent again and again. Its path is under exactly one of get, put, post, head, delete, patch and options; or `method` and
    /// `path` are both given.
    #[schemars(required)]
    pub request: Option<BackgroundRequest>,
}

/// The request of a background load, as that of the measured load, without records. Path, values of headers and `body` may have
/// variables: {{feed.column}}, {{random.uuid}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackgroundRequest {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: Method,
    /// Header fields in addition to those that every request has.
    pub headers: Option<IndexMap<String, String>>,
    /// Rows of values: each request takes one of each feed, in the order cycle or random.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The body as it is sent.
    pub body: Option<String>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Option<Expect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Option<DurationText>,
}

impl BackgroundRequest {
    /// In the form of the measured load's request, with this name.
    pub(crate) fn into_request(self, name: Option<Name>) -> Request {
        Request {
            name,
            method: self.method,
            endpoint: None,
            headers: self.headers,
            without_headers: None,
            feeds: self.feeds,
            body: self.body,
            body_file: None,
            body_random: None,
            records: None,
            expect: self.expect,
            inspect: None,
            timeout: self.timeout,
        }
    }
}
