//! Phrases that several parts of a plan have.

use std::collections::BTreeMap;

/// `4 min to 5 min`, or one of them if both are the same.
pub(super) fn range(low: String, high: String) -> String {
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

pub(super) fn labels(pairs: &BTreeMap<String, String>) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}
