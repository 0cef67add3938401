//! The result of a search as one plain value, and as text. The published schema is generated from these types.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use waggle_report::wording::{format::plain, search::level};
use waggle_spec::LevelKind;
use waggle_stats::{End, SearchTrial};

use super::summary::LoadResult;
use crate::output::values::microseconds;

/// The version of the JSON object. Fields may be added without a new version; a field never changes its meaning.
pub(in crate::commands::load) const FORMAT: u32 = 1;

/// A search for the highest level at which conditions hold, with all its loads.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "waggle load --search")]
pub(crate) struct SearchResult {
    /// Version of this format.
    pub(crate) format: u32,
    /// Version of the program that wrote it.
    pub(crate) waggle_version: String,
    /// URL of the requests, without name and password.
    pub(crate) url: String,
    /// What is maximized: `rate` (requests per second), `users` or `connections`.
    #[schemars(with = "String")]
    pub(crate) maximize: LevelKind,
    /// The conditions; all must hold.
    pub(crate) conditions: Vec<String>,
    /// The first level.
    pub(crate) start: f64,
    /// The lowest level that may be tried.
    pub(crate) min: f64,
    /// The highest level that may be tried.
    pub(crate) max: f64,
    /// Maximum distance of the highest holding and the lowest failing level, as a share of the lower one.
    pub(crate) precision: f64,
    /// Number of loads that must hold at the highest holding level.
    pub(crate) confirmations: u32,
    /// Maximum number of loads.
    pub(crate) max_trials: u32,
    /// Maximum number of connections of a search for a rate; null otherwise.
    pub(crate) max_connections: Option<u32>,
    /// The answer as a sentence.
    pub(crate) answer: String,
    /// How the search ended: `found`, `met-up-to-most`, `never-met`, `instrument-limited`, `silent`, `trials-spent` or
    /// `unfinished`.
    pub(crate) ended: String,
    /// The highest level at which every load held; null if there is none.
    pub(crate) holds_at: Option<f64>,
    /// Number of loads that held there.
    pub(crate) holds_trials: u32,
    /// Whether the server may hold more: the search did not find where its own limit is.
    pub(crate) is_lower_bound: bool,
    /// The key that held the search there, such as `search.max_connections` (`--max-connections`); null if none did.
    pub(crate) limited_by: Option<String>,
    /// The level that half of the loads hold, fitted to all of them; null if none held, or none failed.
    pub(crate) fitted: Option<FittedRange>,
    /// Number of loads in which the load generator was the limit.
    pub(crate) instrument_limited_loads: u32,
    /// The lowest level above it at which a load did not hold; null if there is none.
    pub(crate) fails_at: Option<f64>,
    /// The level above which the search did not go, for whatever reason; null if there is none.
    pub(crate) stopped_at: Option<f64>,
    /// Why the search did not go above it.
    pub(crate) stopped_because: Vec<String>,
    /// All loads, in order.
    pub(crate) steps: Vec<SearchResultStep>,
    #[serde(skip)]
    pub(in crate::commands::load) end: End,
    #[serde(skip)]
    pub(in crate::commands::load) is_open: bool,
}

/// A fitted level with its 95 % interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct FittedRange {
    pub(crate) level: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Loads that it rests on.
    pub(crate) loads: u32,
}

/// One load of a search.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct SearchResultStep {
    /// Requests per second, users or connections.
    pub(crate) level: f64,
    /// `holds`, `fails`, `connections were the limit`, `load generator limit`, `unsteady` or `no evidence`.
    pub(crate) evidence: String,
    /// Connections of the load in a search for a rate; null otherwise.
    pub(crate) connections: Option<u32>,
    /// Why the conditions are not met.
    pub(crate) why: Vec<String>,
    /// The load itself, as `waggle load --json` prints it (schema: waggle schema load); its thresholds are the conditions.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) result: LoadResult,
    #[serde(skip)]
    pub(in crate::commands::load) tried: SearchTrial,
}

/// One step in a line: `rate 2,000/s  met  1.99k/s  p50 820 µs  p99 12.4 ms`.
pub(in crate::commands::load) fn line(what: LevelKind, step: &SearchResultStep) -> String {
    let time = |us: Option<u64>| us.map_or_else(|| "–".to_owned(), microseconds);
    let result = &step.result;
    let mut line = format!(
        "{:>18}  {:<24} {:>7}/s  p50 {:>7}  p99 {:>7}",
        level(what, step.level),
        step.evidence,
        plain(result.goodput_per_s),
        time(result.response_time_us.p50),
        time(result.response_time_us.p99),
    );
    if let Some(connections) = step.connections {
        let _ = write!(line, "  {connections} connections");
    }
    if result.failed > 0 {
        let _ = write!(line, "  {} failed", result.failed);
    }
    for why in &step.why {
        let _ = write!(line, "\n                    {why}");
    }
    line
}

/// What is searched.
pub(in crate::commands::load) fn heading(
    url: &str,
    what: LevelKind,
    conditions: &[String],
) -> String {
    format!(
        "{url}: the highest {what} with {}",
        conditions.join(" and ")
    )
}

/// The result as text: what was searched, every step, and the answer.
pub(in crate::commands::load) fn text(result: &SearchResult) -> String {
    let mut out = heading(&result.url, result.maximize, &result.conditions);
    for step in &result.steps {
        let _ = write!(out, "\n{}", line(result.maximize, step));
    }
    let _ = writeln!(out, "\n{}", result.answer);
    out
}

/// JSON Schema (2020-12) of the object that `--search … --json` prints.
pub(crate) fn schema() -> serde_json::Value {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<SearchResult>()
        .to_value()
}
