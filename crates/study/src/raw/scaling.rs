//! What a study asks of its scaling curves, key by key.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Level;

/// What is asked of the curves over a factor whose levels are numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scaling {
    /// Conditions as in `thresholds`, e.g. `list.response_time.mean < 1s`. They judge nothing: the report says at which level a curve
    /// crosses them. Thresholds are such bounds, too.
    #[schemars(length(min = 1))]
    pub bounds: Option<Vec<String>>,
    /// Two levels of another factor, e.g. `{ api: [kubernetes, steve] }`: how far the second is from the first in each metric that the
    /// study asks about, for each unit of the factor and as a ratio, and from which level on which one is ahead.
    #[schemars(length(min = 1))]
    pub pairs: Option<Vec<PairLevels>>,
}

/// One factor with two of its levels.
pub(crate) type PairLevels = IndexMap<String, Vec<Level>>;
