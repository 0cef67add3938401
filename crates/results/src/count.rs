//! Counts as they are read.

use serde::{Deserialize, Deserializer, de::Error};

/// The largest count that is read: exact as a floating-point number, and a thousand of them add up in 64 bits.
const COUNT_MAX: u64 = 1 << 53;

/// A count of a file that may be damaged.
pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(from)?;
    if count <= COUNT_MAX {
        Ok(count)
    } else {
        Err(D::Error::custom(format_args!(
            "{count} is no count: {COUNT_MAX} at most is read"
        )))
    }
}

/// The same, of what may be unknown.
pub(crate) fn optional_count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    /// A count that is known.
    #[derive(Deserialize)]
    struct Count(#[serde(deserialize_with = "count")] u64);
    let known = Option::<Count>::deserialize(from)?;
    Ok(known.map(|Count(count)| count))
}
