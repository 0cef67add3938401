//! A duration on disk: a number of seconds.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(time: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(time.as_secs_f64())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(given: D) -> Result<Duration, D::Error> {
    Duration::try_from_secs_f64(f64::deserialize(given)?).map_err(D::Error::custom)
}
