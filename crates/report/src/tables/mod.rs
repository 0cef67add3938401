//! The report's tables, each described once; Markdown, the page and the terminal lay out the same ones.

mod busiest;
mod cells;
mod columns;
mod comparisons;
mod cost;
mod curves;
mod disturbed;
mod effects;
mod over_time;
mod published;
mod records;
mod recovery;
mod search;
mod spectrum;
mod steps;
mod trials;
mod trust;

pub(crate) use busiest::busiest;
pub(crate) use cells::{cells, cells_in_short, failures};
pub(crate) use comparisons::comparisons;
pub(crate) use cost::{cost, watches};
pub(crate) use curves::curves;
pub(crate) use disturbed::disturbances;
pub(crate) use effects::{dependences, ratios, shares};
pub(crate) use over_time::over_time;
pub(crate) use published::reference_table;
pub(crate) use records::{delay, ledger, meanings};
pub(crate) use recovery::recovery;
pub(crate) use search::{answers, answers_in_short, levels_table};
pub(crate) use spectrum::spectrum;
pub(crate) use steps::{sessions, step_failures, steps, steps_in_short};
pub(crate) use trials::trials;
pub(crate) use trust::{thresholds, verdicts};
