//! What was measured of the bodies of answers.

use serde::{Deserialize, Serialize};

use crate::count::{count, optional_count};

/// Sums over the succeeded answers that were inspected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectedCounts {
    #[serde(deserialize_with = "count")]
    pub answers: u64,
    /// Of their bodies as they were received, without the framing of HTTP.
    #[serde(deserialize_with = "count")]
    pub body_bytes: u64,
    /// The same after decompression.
    #[serde(deserialize_with = "count")]
    pub decoded_bytes: u64,
    /// Elements of the counted array; `None`: none is counted.
    #[serde(
        default,
        deserialize_with = "optional_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub items: Option<u64>,
}
