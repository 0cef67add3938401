//! Conditions on metrics.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A condition on a metric of a cell, e.g. `put-readings.response_time.p99 < 50ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// As written in the study.
    pub text: String,
    /// The metric's path, e.g. `["put-readings", "response_time", "p99"]`.
    pub metric: Vec<String>,
    pub op: Comparison,
    /// In the metric's own unit: µs for times, 1/s for rates, a share of 1 for shares, else a count.
    pub value: f64,
}

/// How a condition compares a number with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    LessOrEqual,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    GreaterOrEqual,
    #[serde(rename = "==")]
    Equal,
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
        })
    }
}

impl Comparison {
    /// Whether the comparison holds.
    #[must_use]
    pub fn holds(self, number: f64, limit: f64) -> bool {
        match self {
            Self::Less => number < limit,
            Self::LessOrEqual => number <= limit,
            Self::Greater => number > limit,
            Self::GreaterOrEqual => number >= limit,
            #[expect(
                clippy::float_cmp,
                reason = "equality is asked of counts, which are integers and exact"
            )]
            Self::Equal => number == limit,
        }
    }

    /// Whether the limit is the highest that holds, or the first that does not.
    #[must_use]
    pub fn is_upper_bound(self) -> bool {
        match self {
            Self::Less | Self::LessOrEqual => true,
            Self::Greater | Self::GreaterOrEqual | Self::Equal => false,
        }
    }
}
