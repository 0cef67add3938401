//! The result of a search as one plain value, and as text. The published schema is that of these types.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_report::wording::search::level;
use waggle_report::wording::text::plain;
use waggle_results::LevelKind;
use waggle_stats::{End, Tried};

use super::summary::LoadResult;
use crate::table::microseconds;

/// The version of the JSON object. A field may be added under the same number; one is never given another meaning.
pub(super) const FORMAT: u32 = 1;

/// A search for the highest level at which conditions hold, with every load that it made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "waggle load --find")]
pub(crate) struct FindResult {
    /// Version of this object.
    pub(crate) format: u32,
    /// The program that wrote it.
    pub(crate) waggle_version: String,
    /// Where requests went, without name and password.
    pub(crate) url: String,
    /// What was searched for: `rate` (requests per second), `users` or `connections`.
    #[schemars(with = "String")]
    pub(crate) find: LevelKind,
    /// The conditions; all must hold.
    pub(crate) conditions: Vec<String>,
    /// The first level.
    pub(crate) from: f64,
    /// The lowest level that could be tried.
    pub(crate) at_least: f64,
    /// The highest level that could be tried.
    pub(crate) at_most: f64,
    /// How close the ends of the answer should come, as a share of the lower.
    pub(crate) precision: f64,
    /// Loads that had to hold at the level that is the answer.
    pub(crate) confirm: u32,
    /// Most loads.
    pub(crate) trials_at_most: u32,
    /// The answer as a sentence.
    pub(crate) answer: String,
    /// How the search ended: `found`, `met-up-to-most`, `never-met`, `instrument-limited`, `silent`, `trials-spent` or
    /// `unfinished`.
    pub(crate) ended: String,
    /// The highest level at which every load held; null where there is none.
    pub(crate) holds_at: Option<f64>,
    /// How many loads held there.
    pub(crate) holds_trials: u32,
    /// The lowest level above it at which one did not; null where none was seen.
    pub(crate) fails_at: Option<f64>,
    /// The level that the search did not go beyond, whatever the reason; null where there is none.
    pub(crate) stopped_at: Option<f64>,
    /// Why not.
    pub(crate) stopped_because: Vec<String>,
    /// Every load, in the order they were made.
    pub(crate) steps: Vec<FindStep>,
    #[serde(skip)]
    pub(super) end: End,
    #[serde(skip)]
    pub(super) says_nothing: bool,
}

/// One load of a search.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct FindStep {
    /// Requests per second, users or connections.
    pub(crate) level: f64,
    /// `met`, `not met`, `generator was the limit` or `says nothing`.
    pub(crate) evidence: String,
    /// Why it is not met.
    pub(crate) why: Vec<String>,
    /// The load itself, as `waggle load --json` prints it (schema: waggle schema load); its thresholds are the conditions.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) result: LoadResult,
    #[serde(skip)]
    pub(super) tried: Tried,
}

/// One step in a line: `rate 2,000/s  met  1.99k/s  p50 820 µs  p99 12.4 ms`.
pub(super) fn line(what: LevelKind, step: &FindStep) -> String {
    let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), microseconds);
    let result = &step.result;
    let mut line = format!(
        "{:>18}  {:<24} {:>7}/s  p50 {:>7}  p99 {:>7}",
        level(what, step.level),
        step.evidence,
        plain(result.rate_per_s),
        time(result.response_time_us.p50),
        time(result.response_time_us.p99),
    );
    if result.failed > 0 {
        let _ = write!(line, "  {} failed", result.failed);
    }
    for why in &step.why {
        let _ = write!(line, "\n                    {why}");
    }
    line
}

/// The result: what was looked for, the steps that were not told yet, and the answer.
pub(super) fn text(found: &FindResult, steps: &[FindStep]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: the highest {} with {}",
        found.url,
        found.find,
        found.conditions.join(" and ")
    );
    for step in steps {
        let _ = writeln!(out, "{}", line(found.find, step));
    }
    let _ = writeln!(out, "{}", found.answer);
    out
}

/// JSON Schema (2020-12) of the object that `--find … --json` prints.
pub(crate) fn schema() -> serde_json::Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<FindResult>()
        .to_value()
}
