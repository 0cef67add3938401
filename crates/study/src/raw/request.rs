//! A request of the load, key by key, and which answers are a success.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DurationText, Method, Name, OneOrSeveral, Records, Size, Status};
use crate::{
    at::{At, Key},
    parts::request::feeds::Feed,
};

/// The request of the load. Its method is the key of its path: exactly one of get, put, post, head, delete, patch and options; or
/// `method` with `path`. Path, values of headers and `body` may have variables: {{feed.column}}, {{random.uuid}}, {{record.key}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Its name in thresholds and in the report.
    #[schemars(required)]
    pub name: Option<Name>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: Method,
    /// The system's endpoint that receives it; by default the only one.
    pub endpoint: Option<String>,
    /// Header fields in addition to those that every request has.
    pub headers: Option<IndexMap<String, String>>,
    /// Header fields that waggle would write by itself and leaves out: the Content-Type of records.
    pub without_headers: Option<Vec<String>>,
    /// Rows of values: each request takes one of each feed, in the order cycle or random (once and per_user are for scenarios).
    /// All requests are made before the load starts.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The body as it is sent.
    pub body: Option<String>,
    /// The file with the body as it is sent, relative to the study's folder.
    pub body_file: Option<String>,
    /// A body of this many random bytes, e.g. `10MB`; they follow from the study's seed, and every request has the same.
    pub body_random: Option<Size>,
    /// Records as the body.
    pub records: Option<Records>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Option<Expect>,
    /// Measures answers with a status of 2xx while they stream: time to the first byte, bytes of the body before and after
    /// decompression. `{}` is enough.
    pub inspect: Option<Inspect>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Option<DurationText>,
}

/// What is measured of the bodies of answers, which may be compressed by gzip or deflate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inspect {
    /// The JSON array whose elements are counted: `$.items` is a member of the document, `$` the document itself. An answer that is not
    /// JSON or has no such array fails.
    pub count: Option<String>,
}

/// Which answers are a success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// A status code or a list of them.
    pub status: Option<Status>,
    /// The whole body.
    pub body_equals: Option<String>,
    /// A part of the body, or a list of parts that must all be in it.
    pub body_contains: Option<OneOrSeveral>,
}
