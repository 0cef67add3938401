//! An interval in a line of text: base64 around its bytes as generators send them, in which a histogram takes a few hundred bytes.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serializer, de, ser};
use waggle_load::Interval;

pub(super) fn serialize<S: Serializer>(interval: &Arc<Interval>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = postcard::to_stdvec(&**interval).map_err(ser::Error::custom)?;
    to.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Interval>, D::Error> {
    let text = String::deserialize(from)?;
    let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
    let interval = postcard::from_bytes(&bytes).map_err(de::Error::custom)?;
    Ok(Arc::new(interval))
}
