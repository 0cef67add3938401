//! What a system needs besides its processes: artifacts that are fetched, conditions, options of a command, requests made once.

use std::{borrow::Cow, fmt};

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use super::{DurationText, Status};
use crate::{
    Level,
    at::{At, Key},
    parts::request::{Expect, Method},
};

/// Each parameter that the existence of something depends on, with the levels at which it exists.
pub(crate) type Conditions = IndexMap<String, At<Levels>>;

/// A level or a list of them.
#[derive(Debug)]
pub(crate) struct Levels(pub Vec<Level>);

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LevelsVisitor;
        impl<'de> Visitor<'de> for LevelsVisitor {
            type Value = Levels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a level or a list of them")
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Levels, E> {
                Ok(Levels(vec![Level::Boolean(truth)]))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Levels, E> {
                Ok(Levels(vec![Level::Integer(number)]))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Levels, E> {
                Ok(Levels(vec![Level::Float(number)]))
            }
            fn visit_str<E>(self, text: &str) -> Result<Levels, E> {
                Ok(Levels(vec![Level::Text(text.to_owned())]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut levels: A) -> Result<Levels, A::Error> {
                let mut all = Vec::new();
                while let Some(level) = levels.next_element()? {
                    all.push(level);
                }
                Ok(Levels(all))
            }
        }
        deserializer.deserialize_any(LevelsVisitor)
    }
}

impl JsonSchema for Levels {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Levels".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let level = generator.subschema_for::<Level>();
        json_schema!({ "anyOf": [level, { "type": "array", "items": level, "minItems": 1 }] })
    }
}

/// A program, or several, that is fetched if it is not installed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Artifact {
    /// The version that is fetched, in quotes; an installed one of another version is used as it is.
    #[schemars(required)]
    pub version: Key<String>,
    /// Its programs that the components' `${program.NAME}` name.
    #[schemars(required, length(min = 1))]
    pub programs: Key<Vec<At<String>>>,
    /// A script in the system's folder, called with the version and a folder; it puts the programs into the folder's `bin`.
    #[schemars(required)]
    pub fetch: Key<String>,
    /// Programs that the script or the artifact needs, e.g. a compiler.
    pub requires: Key<Vec<At<String>>>,
    /// Environment variables that the script has from waggle's environment, if they are set there, e.g. `CARGO_HOME`. Besides them it
    /// has PATH, HOME, LANG, the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, in capitals or not), and a TMPDIR of its own.
    pub environment_from: Key<Vec<At<String>>>,
    /// What else to know before it is fetched, e.g. how long that takes and how much space.
    pub note: Option<String>,
}

/// Words that a command has in some configurations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// In which configurations, e.g. `{ backend: kafka }`; all must hold.
    #[schemars(required, extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// The words; may hold `${…}`.
    #[schemars(required, length(min = 1))]
    pub add: Key<Vec<At<String>>>,
}

/// A value in an answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyCapture {
    /// The text or number at this JSONPath.
    #[schemars(required)]
    pub json: Key<String>,
}

/// A request made once, before the components that depend on this one start. Its method is the key of its path: exactly one of get,
/// put, post, …; or `method` with `path`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetupStep {
    /// What it does.
    #[schemars(required)]
    pub name: Key<String>,
    /// In which configurations; in all by default.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub when: Key<Conditions>,
    /// One of the component's ports, at its first replica.
    #[schemars(required)]
    pub port: Key<String>,
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields; may hold `${…}`.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// The body; may hold `${…}`.
    pub body: Key<String>,
    /// Which answers are a success; any 2xx by default.
    pub expect: Key<Expect>,
    /// Secrets in the answer: `${secret.NAME}` for later steps, for components that depend on this one, and for requests.
    #[schemars(extend("x-waggle-keys" = "name"))]
    pub capture: Key<IndexMap<String, VerifyCapture>>,
    /// Statuses after which the request is sent again until `timeout`, e.g. `503`; by default it is sent once.
    pub retry_on: Key<Status>,
    /// How long the answer is waited for; 10s by default.
    pub timeout: Key<DurationText>,
    /// How what it made is removed. A step with it is also carried out if the component runs already, and undone at the end.
    pub undo: Key<Undo>,
}

/// A request that removes what a setup step has made: get, put, post, …; or `method` with `path`. It is repeated until its answer says
/// that it is gone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    #[serde(rename = "$waggle::Part")]
    #[schemars(flatten)]
    pub method: At<Method>,
    /// Header fields; may hold `${secret.NAME}` and parameters.
    pub headers: Key<IndexMap<String, At<String>>>,
    /// The body; may hold the same.
    pub body: Key<String>,
    /// The status that says that it is gone, or a list of them; 404 by default.
    pub status: Key<Status>,
    /// How long it may take; 60s by default.
    pub timeout: Key<DurationText>,
}
