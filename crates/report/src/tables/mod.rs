//! The report's tables, each defined once; Markdown, the page and the terminal lay out the same ones.

mod asked;
mod best_and_worst;
mod bottlenecks;
mod cells;
mod clients;
mod columns;
mod comparisons;
mod count_comparison;
mod curves;
mod delivery;
mod effects;
mod faults;
mod laws;
mod left_out;
mod limits;
mod operating_points;
mod over_time;
mod preparation;
mod ranking;
mod recovery;
mod reference;
mod resources;
mod search;
mod spectrum;
mod steps;
mod trials;
mod verdicts;

pub(crate) use asked::asked_metrics;
pub(crate) use best_and_worst::{
    best_and_worst_successes, best_and_worst_trials, least_and_most_failures,
};
pub(crate) use bottlenecks::bottlenecks;
pub(crate) use cells::{all_levels, cells, cells_in_short, failures};
pub(crate) use clients::clients;
pub(crate) use comparisons::comparisons;
pub(crate) use count_comparison::count_comparison;
pub(crate) use curves::curves;
pub(crate) use delivery::{delay, ledger, meanings};
pub(crate) use effects::{dependences, ratios, shares};
pub(crate) use faults::faults;
pub(crate) use laws::coefficients;
pub(crate) use left_out::left_out;
pub(crate) use limits::component_limits;
pub(crate) use operating_points::{further_asked, operating_point, operating_point_in_short};
pub(crate) use over_time::over_time;
pub(crate) use preparation::{preparations, prepare_steps};
pub(crate) use ranking::ranking;
pub(crate) use recovery::recovery;
pub(crate) use reference::reference;
pub(crate) use resources::{resources, system_metrics};
pub(crate) use search::{answers, answers_in_short, levels_table};
pub(crate) use spectrum::spectrum;
pub(crate) use steps::{sessions, step_failures, steps, steps_in_short};
pub(crate) use trials::trials;
pub(crate) use verdicts::{thresholds, verdicts};
