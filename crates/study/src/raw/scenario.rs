//! A scenario, key by key: in a study under `load.scenario`, or a file of its own.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use waggle_spec::OnFailure;

use super::{DurationText, Expect, Method, Name};
use crate::{
    Level,
    at::{At, Key},
    parts::{load::Think, request::feeds::Feed},
};

pub(crate) type Captures = IndexMap<String, Extractor>;

/// What sessions do: each goes through one flow, step by step, on one connection, with variables and cookies of its own.
/// Variables are written {{name}}, columns of a feed {{feed.column}}.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "waggle scenario")]
pub(crate) struct Scenario {
    /// The file that it is in, relative to the study's folder, in place of all keys but `endpoint`.
    #[expect(dead_code, reason = "the tree of the file is in its place by then")]
    pub file: Option<String>,
    /// Its name in thresholds and in the report, for all steps together.
    pub name: Option<Name>,
    /// The system's endpoint that receives it; by default the only one. In a study only.
    pub endpoint: Option<String>,
    /// What becomes of a session whose request failed, unless its step has its own; end_session by default.
    pub on_failure: Option<OnFailure>,
    /// Rows of values for the sessions.
    pub feeds: Key<Vec<At<Feed>>>,
    /// The ways through the system; each session takes one of them, drawn by weight.
    #[schemars(length(min = 1, max = 100))]
    pub flows: Option<Vec<Flow>>,
}

/// One way through the system.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// Its name.
    #[schemars(required)]
    pub name: Option<Name>,
    /// Its share of the sessions is this over the sum of all weights; 1 by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: Option<u32>,
    /// What a session does, in this order.
    #[schemars(required, length(min = 1))]
    pub steps: Option<Vec<Step>>,
}

/// A request (`name` and exactly one of get, put, post, …, or `method` with `path`), a pause (`think_time`), or steps gone
/// through several times (`repeat` or `while`, and `steps`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "step")]
pub(crate) struct Step {
    /// Its name in thresholds and in the report. The same request may be a step several times under one name.
    pub name: Option<Name>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: Method,
    /// Header fields in addition to those that every request has.
    pub headers: Option<IndexMap<String, String>>,
    /// The body.
    pub body: Option<String>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Option<Expect>,
    /// Further conditions on the answer.
    pub check: Option<Vec<Check>>,
    /// Variables, each with how its value is extracted from the answer.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub capture: Option<Captures>,
    /// What becomes of the session if this request fails; by default that of the scenario.
    pub on_failure: Option<OnFailure>,
    /// How long an answer is waited for; 10s by default.
    pub timeout: Option<DurationText>,
    /// A pause: `1s`, `{ exponential: 1s }` or `{ uniform: [1s, 3s] }`.
    pub think_time: Key<Think>,
    /// How often `steps` are repeated.
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: Option<u32>,
    /// In place of `repeat`: a variable that the steps capture. They are repeated as long as they leave something in it.
    #[serde(rename = "while")]
    pub while_captured: Option<Name>,
    /// With `while`: the variable's value in the first round; empty by default.
    pub first: Option<Level>,
    /// With `while`: most rounds; 10000 by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_rounds: Option<u32>,
    /// With `while`: what becomes of the session if the last of these rounds leaves something in the variable; end_session by default:
    /// it fails.
    pub on_limit: Option<OnFailure>,
    /// {{offset}} in the steps is 0 in the first round, and larger by this in each further one.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub offset_step: Option<u32>,
    /// The steps that are repeated.
    #[schemars(length(min = 1))]
    pub steps: Option<Vec<Step>>,
}

/// How a value is extracted from an answer; exactly one of json, header, regex and cookie, or a regex in a header.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extractor {
    /// A JSONPath (RFC 9535) such as $.items[0].id, into a body of JSON; the first one found counts.
    pub json: Option<String>,
    /// Name of a header.
    pub header: Option<String>,
    /// A regular expression, searched in the body; with `header`, in the headers of this name.
    pub regex: Option<String>,
    /// The group of the regular expression; 1 by default if it has one, else 0, the whole match.
    #[schemars(range(min = 0, max = 1_000))]
    pub group: Option<u32>,
    /// Name of a cookie that the session has after the answer.
    pub cookie: Option<String>,
    /// Whether the value may be missing, or null in JSON: then the variable is empty. false by default: the request fails.
    pub optional: Option<bool>,
}

/// A condition on an answer: a value, by exactly one of json, header, regex, cookie and part, or a regex in a header; and a comparison, by one of equals,
/// contains and matches. Without a comparison the value must exist.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// A JSONPath (RFC 9535) such as $.items[0].id, into a body of JSON; the first one found counts.
    pub json: Option<String>,
    /// Name of a header.
    pub header: Option<String>,
    /// A regular expression, searched in the body; with `header`, in the headers of this name.
    pub regex: Option<String>,
    /// The group of the regular expression; 1 by default if it has one, else 0, the whole match.
    #[schemars(range(min = 0, max = 1_000))]
    pub group: Option<u32>,
    /// Name of a cookie that the session has after the answer.
    pub cookie: Option<String>,
    /// The whole body, or the status as its three digits.
    pub part: Option<CheckPart>,
    /// The value is this.
    pub equals: Option<Level>,
    /// The value contains this.
    pub contains: Option<Level>,
    /// This regular expression matches somewhere in the value.
    pub matches: Option<String>,
}

/// A part of an answer that a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckPart {
    Body,
    Status,
}
