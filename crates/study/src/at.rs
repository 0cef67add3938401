//! Values of a file with their places: what a part of a study is read into, so that a check says what is wrong and where without
//! naming the path of a key.

use std::{fmt, marker::PhantomData, time::Duration};

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use waggle_units::format_duration;

use crate::{
    mistake::{Finding, Position},
    raw::{DurationText, OneOrSeveral},
};

/// The name by which [`crate::de::NodeReader`] knows that a place is asked for.
pub(crate) const WITH_PLACE: &str = "$waggle::At";

/// The name of a field whose own keys stand among those of the type that has it. Unlike a field that serde flattens it is read from the
/// file, with places.
pub(crate) const PART: &str = "$waggle::Part";

/// Where a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As messages name it: `verify[1].get`.
    pub path: String,
    pub key: Position,
    pub value: Position,
}

impl Place {
    /// A mistake in the value; `what` follows its path, such as `is 5s`.
    pub(crate) fn mistake(&self, what: impl fmt::Display) -> Finding {
        self.mistake_in(self.value, what)
    }

    /// A time that is there, if it is within its bounds; else that is reported.
    pub(crate) fn check_bounds(
        &self,
        time: Duration,
        Bounds(min, max): Bounds,
        report: &mut Vec<Finding>,
    ) -> Option<Duration> {
        if (min..=max).contains(&time) {
            return Some(time);
        }
        let (min, max) = (format_duration(min), format_duration(max));
        let mistake = self.mistake(format!("is {}", format_duration(time)));
        report.push(mistake.with_expected(format!("a duration from {min} to {max}")));
        None
    }

    /// A mistake of the key; `what` follows its path.
    pub(crate) fn key_mistake(&self, what: impl fmt::Display) -> Finding {
        self.mistake_in(self.key, what)
    }

    /// A mistake that is shown at a part of the value; `what` follows the path of the whole.
    pub(crate) fn mistake_in(&self, part: Position, what: impl fmt::Display) -> Finding {
        Finding::new(part, format!("{} {what}", self.path))
    }
}

/// A value and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub place: Place,
    pub value: T,
}

/// A key of a mapping, and what the file has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key<T> {
    Missing,
    /// Its mistake was reported.
    Invalid,
    Given(At<T>),
}

impl<T> Key<T> {
    pub(crate) fn content(&self) -> Option<&At<T>> {
        match self {
            Self::Given(content) => Some(content),
            Self::Missing | Self::Invalid => None,
        }
    }

    /// Takes the value out, if there is one.
    pub(crate) fn take(&mut self) -> Option<At<T>> {
        match std::mem::replace(self, Self::Missing) {
            Self::Given(content) => Some(content),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Whether there is a value.
    pub(crate) fn is_some(&self) -> bool {
        self.content().is_some()
    }

    /// Whether it has a mistake that was reported.
    pub(crate) fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid)
    }

    /// Where its value is, if there is one.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.content().map(|content| &content.place)
    }

    pub(crate) fn value(&self) -> Option<&T> {
        self.content().map(|content| &content.value)
    }

    /// The given value, or that of a file without the key; `None` if the value is invalid.
    pub(crate) fn or_default(&self, default: T) -> Option<T>
    where
        T: Clone,
    {
        match self {
            Self::Missing => Some(default),
            Self::Invalid => None,
            Self::Given(content) => Some(content.value.clone()),
        }
    }

    /// Checks the value, if there is one; `Some(None)`: there is none, `None`: it has a mistake.
    #[expect(clippy::option_option, reason = "invalid, missing, or a value")]
    pub(crate) fn check<U>(&self, check: impl FnOnce(&At<T>) -> Option<U>) -> Option<Option<U>> {
        match self {
            Self::Missing => Some(None),
            Self::Invalid => None,
            Self::Given(content) => check(content).map(Some),
        }
    }
}

/// A mapping whose names the user chooses, those of invalid values among them.
#[derive(Debug, Clone)]
pub(crate) struct Entries<T>(IndexMap<String, Key<T>>);

impl<T> Entries<T> {
    /// Those without a mistake.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &At<T>)> {
        let entries = self.0.iter();
        entries.filter_map(|(name, entry)| Some((name, entry.content()?)))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&At<T>> {
        self.0.get(name).and_then(Key::content)
    }

    /// Whether the value of a name is invalid.
    pub(crate) fn is_invalid(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Key::is_invalid)
    }
}

impl<T> Key<Entries<T>> {
    /// The entries without a mistake, if there are any.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&String, &At<T>)> {
        self.value().into_iter().flat_map(Entries::iter)
    }

    /// Whether the mapping, or the value of a name in it, is invalid.
    pub(crate) fn has_invalid(&self, name: &str) -> bool {
        self.is_invalid() || self.value().is_some_and(|entries| entries.is_invalid(name))
    }
}

/// The shortest and the longest time that a key may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds(pub Duration, pub Duration);

impl At<OneOrSeveral<At<String>>> {
    /// The texts, each with its position.
    pub(crate) fn entries(&self) -> Vec<(Position, &str)> {
        match &self.value {
            OneOrSeveral::One(text) => vec![(self.place.value, text)],
            OneOrSeveral::Several(texts) => {
                let entries = texts.iter();
                entries
                    .map(|text| (text.place.value, text.value.as_str()))
                    .collect()
            }
        }
    }
}

impl At<DurationText> {
    /// The time, if it is within its bounds; else that is reported.
    pub(crate) fn check_bounds(
        &self,
        bounds: Bounds,
        report: &mut Vec<Finding>,
    ) -> Option<Duration> {
        let DurationText(time) = self.value;
        self.place.check_bounds(time, bounds, report)
    }
}

impl Key<DurationText> {
    /// The given time, or the default, if it is within its bounds; else that is reported.
    pub(crate) fn check_bounds(
        &self,
        default: Duration,
        bounds: Bounds,
        report: &mut Vec<Finding>,
    ) -> Option<Duration> {
        match self {
            Self::Missing => Some(default),
            Self::Invalid => None,
            Self::Given(content) => content.check_bounds(bounds, report),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Key<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for KeyVisitor<T> {
            type Value = Key<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_none<E>(self) -> Result<Key<T>, E> {
                Ok(Key::Missing)
            }
            fn visit_unit<E>(self) -> Result<Key<T>, E> {
                Ok(Key::Invalid)
            }
            fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Key<T>, D::Error> {
                At::deserialize(value).map(Key::Given)
            }
        }
        deserializer.deserialize_option(KeyVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AtVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for AtVisitor<T> {
            type Value = At<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its place")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<At<T>, A::Error> {
                let is_cut = || Error::custom("a value without its place");
                let path: String = parts.next_element()?.ok_or_else(is_cut)?;
                let key: [u32; 4] = parts.next_element()?.ok_or_else(is_cut)?;
                let position: [u32; 4] = parts.next_element()?.ok_or_else(is_cut)?;
                Ok(At {
                    place: Place {
                        path,
                        key: Position::from_numbers(key),
                        value: Position::from_numbers(position),
                    },
                    value: parts.next_element()?.ok_or_else(is_cut)?,
                })
            }
        }
        deserializer.deserialize_newtype_struct(WITH_PLACE, AtVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entries<T>, A::Error> {
                IndexMap::deserialize(MapAccessDeserializer::new(map)).map(Entries)
            }
        }
        // As a struct, a mapping also has the keys whose values are invalid.
        deserializer.deserialize_struct("Entries", &[], EntriesVisitor(PhantomData))
    }
}

/// The schema of a value with its place is that of the value.
macro_rules! schema_of_value {
    ($type:ident, $value:ty) => {
        impl<T: JsonSchema> JsonSchema for $type<T> {
            fn inline_schema() -> bool {
                <$value>::inline_schema()
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$value>::schema_name()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$value>::json_schema(generator)
            }
            fn _schemars_private_is_option() -> bool {
                <$value>::_schemars_private_is_option()
            }
        }
    };
}

schema_of_value!(At, T);
schema_of_value!(Entries, IndexMap<String, T>);
// A key is required only if it says so.
schema_of_value!(Key, Option<T>);
