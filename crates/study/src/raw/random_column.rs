//! A column of made rows with a random value.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

/// A random value; exactly one of integer, text and choice.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomColumn {
    /// A whole number from the first to the second.
    #[schemars(length(min = 2, max = 2))]
    pub integer: Option<Vec<i64>>,
    /// So many lower-case letters and digits, from the first number to the second.
    #[schemars(length(min = 2, max = 2))]
    pub text: Option<Vec<u32>>,
    /// One of these texts, by its weight.
    #[schemars(length(min = 1, max = 1_000), extend("x-waggle-keys" = "text"))]
    pub choice: Option<IndexMap<String, u32>>,
}
