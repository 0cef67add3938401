//! The cells at a share of their capacities: what is said of them, and why one has no operating point.

use waggle_analysis::{
    AnswerOf, CellSearch, MetricAnswer, Model, OperatingPointModel, SearchModel,
};
use waggle_spec::Search;
use waggle_stats::End;

use crate::{
    parts::{
        capacity::search,
        opening::words::{best_and_worst, ties},
    },
    words::{findings::cell_reason, format, names::cell_name, sentence::uncapitalise},
};

/// `50 % of capacity`.
#[must_use]
pub fn place(share: f64) -> String {
    format!("{} of capacity", format::set_share(share))
}

/// `At 50 % of capacity`.
pub(crate) fn heading(point: &OperatingPointModel) -> String {
    format!("At {}", place(point.share))
}

/// Of each metric that the study asks about the best and the worst cell at each share.
pub(crate) fn in_short(model: &Model) -> Vec<String> {
    let of_point = |point: &OperatingPointModel| -> Vec<String> {
        let metrics = metrics(point).iter();
        let said = metrics.map(|metric| add_place(point, best_and_worst(&point.model, metric)));
        said.collect()
    };
    model.operating_points.iter().flat_map(of_point).collect()
}

/// All that is said of one share.
pub(crate) fn sentences(point: &OperatingPointModel) -> Vec<String> {
    let of_metric = |metric: &MetricAnswer| {
        let mut all = best_and_worst(&point.model, metric);
        all.extend(ties(&point.model, metric));
        all
    };
    metrics(point).iter().flat_map(of_metric).collect()
}

fn metrics(point: &OperatingPointModel) -> &[MetricAnswer] {
    match &point.model.answer.of {
        AnswerOf::Metrics(metrics) => metrics,
        AnswerOf::Nothing | AnswerOf::Searches(_) => &[],
    }
}

/// In one sentence after the other, the first with the place.
fn add_place(point: &OperatingPointModel, said: Vec<String>) -> String {
    format!("{}, {}", heading(point), uncapitalise(&said.join(" ")))
}

/// Why the cells there have their verdicts.
pub(crate) fn reasons(point: &OperatingPointModel) -> Vec<String> {
    let mut all = Vec::new();
    for cell in &point.model.cells {
        let name = cell_name(&point.model, cell);
        all.extend(cell.reasons.iter().map(|reason| match name.as_str() {
            "" => cell_reason(reason),
            name => format!("{name}: {}", cell_reason(reason)),
        }));
    }
    all
}

/// Why a cell has no operating point: `no capacity: fails at the minimum`.
pub(crate) fn missing_reason(cell_search: &CellSearch) -> String {
    let why = match cell_search.answer.end {
        // Not even at lower levels.
        End::Silent => "no evidence",
        end => search::words::end(end),
    };
    format!("no capacity: {why}")
}

/// The capacity with its unit; `≥` if the search did not find where it ends.
pub(crate) fn capacity(
    search: &SearchModel,
    cell_search: &CellSearch,
) -> Option<(String, Option<String>)> {
    let answer = &cell_search.answer;
    answer.capacity()?;
    let held = search::words::held_level(search.info.maximize, answer)?;
    let fails = answer.fails.filter(|_| !answer.is_lower_bound());
    let note = match fails {
        Some(fails) => format!(
            "below {}",
            search::words::level(search.info.maximize, fails)
        ),
        None => search::words::end(answer.end).to_owned(),
    };
    Some((held, Some(note)))
}

/// What is tried after the search.
pub(crate) fn methodology(asked: &Search) -> String {
    let Some(points) = &asked.operating_points else {
        return String::new();
    };
    let shares = points.shares.iter().map(|share| format::set_share(*share));
    let shares: Vec<String> = shares.collect();
    let trials = match points.repeat {
        1 => "1 further trial".to_owned(),
        several => format!("{several} further trials"),
    };
    format!(
        "; {trials} of each cell at {} of its capacity, which is its highest holding level, are in no result but those at this share; a \
         rate there is rounded by half a percent at most, and lateness of the load generator is judged as without a search",
        shares.join(" and at ")
    )
}
