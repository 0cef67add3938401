//! Scalars with a unit or a choice of shapes. The schema of each has, under `x-waggle`, how it is read.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};
use waggle_units::{parse_duration, parse_number, parse_rate, parse_share, parse_size};

use crate::Level;

/// `250ms`, `10s`, `2m`, `1h`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct DurationText(pub Duration);

impl TryFrom<String> for DurationText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        parse_duration(&text).map(Self).ok_or("not a duration")
    }
}

/// `10kB`, `4MiB`, in bytes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Size(pub u64);

impl TryFrom<String> for Size {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        parse_size(&text).map(Self).ok_or("not a size")
    }
}

/// Letters, digits, `-` and `_`: fit for file names, paths of metrics and `${…}`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Name(pub String);

/// `1000/s`, or a number of events per second.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Level")]
pub(crate) struct Rate(pub f64);

impl TryFrom<Level> for Rate {
    type Error = &'static str;

    fn try_from(level: Level) -> Result<Self, Self::Error> {
        parse_rate(&level.to_string()).map(Self).ok_or("not a rate")
    }
}

/// `5%` or `0.05`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Level")]
pub(crate) struct Share(pub f64);

impl TryFrom<Level> for Share {
    type Error = &'static str;

    fn try_from(level: Level) -> Result<Self, Self::Error> {
        parse_share(&level.to_string())
            .map(Self)
            .ok_or("not a share")
    }
}

/// A width of an interval as a share: `10%`, `0.1`; unlike a [`Share`] it may be above 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Level")]
pub(crate) struct Width(pub f64);

impl TryFrom<Level> for Width {
    type Error = &'static str;

    fn try_from(level: Level) -> Result<Self, Self::Error> {
        parse_width(&level.to_string())
            .map(Self)
            .ok_or("not a width")
    }
}

/// Reads a [`Width`], which is from 0.1% to 1000%.
pub(crate) fn parse_width(text: &str) -> Option<f64> {
    let width = match text.strip_suffix('%') {
        Some(percent) => parse_number(percent)? / 100.0,
        None => parse_number(text)?,
    };
    (0.001..=10.0).contains(&width).then_some(width)
}

/// A level of the load: `1000/s`, or a number of users or connections.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Level")]
pub(crate) struct LoadLevel(pub f64);

impl TryFrom<Level> for LoadLevel {
    type Error = &'static str;

    fn try_from(level: Level) -> Result<Self, Self::Error> {
        parse_rate(&level.to_string())
            .map(Self)
            .ok_or("not a level")
    }
}

/// One status code or several.
#[derive(Debug, Clone)]
pub(crate) struct Status(pub Vec<u16>);

/// One text or several, in their order: the names of probes or factors, addresses.
#[derive(Debug, Clone)]
pub(crate) enum OneOrSeveral<T = String> {
    One(String),
    Several(Vec<T>),
}

impl OneOrSeveral {
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        }
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LevelVisitor;
        impl Visitor<'_> for LevelVisitor {
            type Value = Level;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, true, false or text")
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Level, E> {
                Ok(Level::Boolean(truth))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Level, E> {
                Ok(Level::Integer(number))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Level, E> {
                Ok(Level::Float(number))
            }
            fn visit_str<E>(self, text: &str) -> Result<Level, E> {
                Ok(Level::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(LevelVisitor)
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StatusVisitor;
        impl<'de> Visitor<'de> for StatusVisitor {
            type Value = Status;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a status code or a list of them")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Status, E> {
                u16::try_from(number)
                    .map(|code| Status(vec![code]))
                    .map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut codes: A) -> Result<Status, A::Error> {
                let mut all = Vec::new();
                while let Some(code) = codes.next_element()? {
                    all.push(code);
                }
                Ok(Status(all))
            }
        }
        deserializer.deserialize_any(StatusVisitor)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrSeveral<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveralVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrSeveralVisitor<T> {
            type Value = OneOrSeveral<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of them")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(OneOrSeveral::One(name.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = names.next_element()? {
                    all.push(name);
                }
                Ok(OneOrSeveral::Several(all))
            }
        }
        deserializer.deserialize_any(OneOrSeveralVisitor(PhantomData))
    }
}

/// Defines the schema of a type, which is inlined.
macro_rules! inline_schema {
    ($type:ty, $generator:ident => $schema:expr) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use inline_schema;

inline_schema!(DurationText, _generator => json_schema!({
    "type": "string", "x-waggle": "duration", "pattern": r"^(0|[0-9]+(\.[0-9]+)? ?(ns|us|µs|ms|s|m|h))$"
}));
inline_schema!(Size, _generator => json_schema!({
    "type": "string", "x-waggle": "size", "pattern": r"^[0-9]+(\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB)$"
}));
inline_schema!(Name, _generator => json_schema!({
    "type": "string", "x-waggle": "name", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
}));
inline_schema!(Rate, _generator => json_schema!({
    "type": ["number", "string"], "x-waggle": "rate", "minimum": 0, "pattern": r"^[0-9]+(\.[0-9]+)?(/[smh])?$"
}));
inline_schema!(Share, _generator => json_schema!({
    "type": ["number", "string"], "x-waggle": "share", "minimum": 0, "maximum": 1, "pattern": r"^[0-9]+(\.[0-9]+)?%?$"
}));
inline_schema!(Width, _generator => json_schema!({
    "type": ["number", "string"], "x-waggle": "width", "minimum": 0.001, "maximum": 10, "pattern": r"^[0-9]+(\.[0-9]+)?%?$"
}));
inline_schema!(LoadLevel, _generator => json_schema!({
    "type": ["number", "string"], "x-waggle": "load level", "minimum": 0, "pattern": r"^[0-9]+(\.[0-9]+)?(/[smh])?$"
}));
inline_schema!(Level, _generator => json_schema!({ "type": ["integer", "number", "boolean", "string"] }));
inline_schema!(Status, _generator => json_schema!({
    "anyOf": [
        { "type": "integer", "minimum": 100, "maximum": 599 },
        { "type": "array", "items": { "type": "integer", "minimum": 100, "maximum": 599 }, "minItems": 1 }
    ]
}));
impl<T> JsonSchema for OneOrSeveral<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OneOrSeveral".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 }
            ]
        })
    }
}

/// Reads a scalar in one variant of a type, or a mapping in another.
macro_rules! scalar_or_mapping {
    ($type:ident, $scalar:ident($read:ty), $mapping:ident($mapped:ty), $expected:literal) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::{
                    Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer,
                };
                struct ThisVisitor;
                impl<'de> Visitor<'de> for ThisVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        <$read>::deserialize(text.into_deserializer()).map($type::$scalar)
                    }
                    fn visit_i64<E: Error>(self, number: i64) -> Result<$type, E> {
                        <$read>::deserialize(number.into_deserializer()).map($type::$scalar)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        <$mapped>::deserialize(MapAccessDeserializer::new(map)).map($type::$mapping)
                    }
                }
                // As a struct, a mapping also has the keys whose values are invalid.
                deserializer.deserialize_struct(stringify!($type), &[], ThisVisitor)
            }
        }

        $crate::raw::inline_schema!($type, generator => {
            let scalar = generator.subschema_for::<$read>();
            let mapping = generator.subschema_for::<$mapped>();
            schemars::json_schema!({ "anyOf": [scalar, mapping] })
        });
    };
}
pub(crate) use scalar_or_mapping;
