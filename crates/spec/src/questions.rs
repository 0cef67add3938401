//! What a study asks about its cells beside thresholds. Every metric is a path, as in a [`Threshold`].

use serde::{Deserialize, Serialize};

use crate::Threshold;

/// The best and the worst trial of each cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestAndWorst {
    /// The first one decides, each further one between trials that are equal in those before it; at least one.
    pub order: Vec<OrderedMetric>,
    /// The factors whose levels are the rows of the tables, none of a study without factors; the other factors are their columns.
    pub rows: Vec<String>,
    /// A count of failures; `None`: there is no table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<String>>,
    /// A count of successes; `None`: there is no table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<Successes>,
}

/// A metric by which trials are ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderedMetric {
    pub metric: Vec<String>,
    /// The trial with the lowest value is the best.
    pub is_lowest_best: bool,
}

/// Successes, and all of which they are a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Successes {
    pub metric: Vec<String>,
    /// Their sum is all; at least one.
    pub of: Vec<Vec<String>>,
}

/// Reference results: a table of figures from elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    pub title: String,
    /// Who measured it and on what.
    pub source: String,
    /// The factors whose levels name the rows; at least one.
    pub match_on: Vec<String>,
    /// At least one.
    pub columns: Vec<ReferenceColumn>,
    /// The rows whose levels a cell has, in the file's order.
    pub rows: Vec<ReferenceRow>,
}

/// What a column of reference results is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceColumn {
    pub name: String,
    pub metric: Vec<String>,
}

/// One row of reference results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceRow {
    /// One for each factor of [`Reference::match_on`].
    pub levels: Vec<String>,
    /// One for each column, in the unit of a [`Threshold`] on that metric; `None`: the table has none.
    pub values: Vec<Option<f64>>,
}

/// What a study asks of its scaling curves: bounds that they may cross, and levels that are compared along them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// Nothing is judged by them; none asks for equality.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Threshold>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
}

/// Two levels of a factor; the second is compared with the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    pub factor: String,
    /// As cells have them.
    pub levels: [String; 2],
}
