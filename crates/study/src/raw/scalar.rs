//! Scalars with a unit or a choice of shapes. The schema of each has, under `x-waggle`, how it is read.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use waggle_units::{parse_duration, parse_number, parse_rate, parse_share, parse_size};

use super::{CoolDownUntil, MeasuredRequests, RandomColumn, RepeatUntil, SettleUntil, WarmUpUntil};
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

/// `plant` or `{column: line}`.
#[derive(Debug, Clone)]
pub(crate) enum Measurement {
    Name(String),
    Column(MeasurementColumn),
}

/// `time` or `{column: [Date, Time], format: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}`.
#[derive(Debug, Clone)]
pub(crate) enum Time {
    Column(String),
    Columns(TimeColumns),
}

/// The measurement in a column.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasurementColumn {
    /// The name of the column.
    #[schemars(required)]
    pub column: Option<String>,
}

/// Where and how the time of a record is written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeColumns {
    /// The column, or several whose texts are joined by spaces, such as a date and a time of day.
    #[schemars(required)]
    pub column: Option<OneOrSeveral>,
    /// `s`, `ms`, `us` or `ns` since 1970, or a pattern as of strptime: `%d.%m.%Y %H:%M:%S`. By default as in RFC 3339, also with a
    /// space, or nanoseconds.
    pub format: Option<String>,
    /// The zone of times without an offset: a name such as Europe/Berlin, or an offset such as +01:00; UTC by default.
    pub zone: Option<String>,
}

/// `schema-{{n}}`, `{integer: [1, 6]}`, `{text: [10, 40]}` or `{choice: {AVRO: 8, JSON: 2}}`.
#[derive(Debug, Clone)]
pub(crate) enum MadeColumn {
    Numbered(String),
    Random(RandomColumn),
}

/// `1s`, `{exponential: 1s}` or `{uniform: [1s, 3s]}`.
#[derive(Debug, Clone)]
pub(crate) enum Think {
    Fixed(DurationText),
    Random(RandomThink),
}

/// `30s` or `{requests: 10000, timeout: 5m}`.
#[derive(Debug, Clone)]
pub(crate) enum Measured {
    Time(DurationText),
    Requests(MeasuredRequests),
}

/// `20s`, `{until: steady, timeout: 20s}` or `{requests: 1000, timeout: 20s}`.
#[derive(Debug, Clone)]
pub(crate) enum WarmUp {
    Time(DurationText),
    Until(WarmUpUntil),
}

/// `10s` or `{until: {load_average: 0.5}, poll_interval: 5s, timeout: 5m}`.
#[derive(Debug, Clone)]
pub(crate) enum CoolDown {
    Time(DurationText),
    Until(CoolDownUntil),
}

/// `2s` or `{metric: jobs, quiet_period: 2s, timeout: 1m}`.
#[derive(Debug, Clone)]
pub(crate) enum Settle {
    Time(DurationText),
    Quiet(SettleUntil),
}

/// `3` or `{min: 3, max: 8, max_ci_width: 20%}`.
#[derive(Debug, Clone)]
pub(crate) enum Repeat {
    Times(u32),
    Until(RepeatUntil),
}

/// How a user's think time is drawn; exactly one key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomThink {
    /// Exponentially distributed with this mean.
    pub exponential: Option<DurationText>,
    /// Uniformly distributed between the two.
    #[schemars(length(min = 2, max = 2))]
    pub uniform: Option<Vec<DurationText>>,
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
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

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
    ($type:ident, $visit:ident($given:ty), $scalar:ident($read:expr, $schema:expr), $mapping:ident($mapped:ty), $expected:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ThisVisitor;
                impl<'de> Visitor<'de> for ThisVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    fn $visit<E: Error>(self, given: $given) -> Result<$type, E> {
                        $read(given).map($type::$scalar).map_err(E::custom)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        <$mapped>::deserialize(MapAccessDeserializer::new(map)).map($type::$mapping)
                    }
                }
                deserializer.deserialize_any(ThisVisitor)
            }
        }

        inline_schema!($type, generator => {
            let scalar = $schema(generator);
            let mapping = generator.subschema_for::<$mapped>();
            json_schema!({ "anyOf": [scalar, mapping] })
        });
    };
}

fn read_span(text: &str) -> Result<DurationText, &'static str> {
    DurationText::try_from(text.to_owned())
}

fn duration_schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<DurationText>()
}

fn times_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": 1_000 })
}

scalar_or_mapping!(
    Think,
    visit_str(&str),
    Fixed(read_span, duration_schema),
    Random(RandomThink),
    "a duration, exponential or uniform"
);
fn read_text(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.to_owned())
}

fn text_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

scalar_or_mapping!(
    Measurement,
    visit_str(&str),
    Name(read_text, text_schema),
    Column(MeasurementColumn),
    "a name or its column"
);
scalar_or_mapping!(
    Time,
    visit_str(&str),
    Column(read_text, text_schema),
    Columns(TimeColumns),
    "a column, or column, format and zone"
);
scalar_or_mapping!(
    MadeColumn,
    visit_str(&str),
    Numbered(read_text, text_schema),
    Random(RandomColumn),
    "a text, integer, text or choice"
);
scalar_or_mapping!(
    Measured,
    visit_str(&str),
    Time(read_span, duration_schema),
    Requests(MeasuredRequests),
    "a duration or requests"
);
scalar_or_mapping!(
    WarmUp,
    visit_str(&str),
    Time(read_span, duration_schema),
    Until(WarmUpUntil),
    "a duration or what ends it"
);
scalar_or_mapping!(
    CoolDown,
    visit_str(&str),
    Time(read_span, duration_schema),
    Until(CoolDownUntil),
    "a duration or what ends it"
);
scalar_or_mapping!(
    Settle,
    visit_str(&str),
    Time(read_span, duration_schema),
    Quiet(SettleUntil),
    "a duration, or a metric"
);
scalar_or_mapping!(
    Repeat,
    visit_i64(i64),
    Times(u32::try_from, times_schema),
    Until(RepeatUntil),
    "a number or its limits"
);
