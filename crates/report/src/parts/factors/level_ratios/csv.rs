//! `ratios.csv`: a row for each level of a factor against its first, of each outcome, in each cell; numbers in full.

use waggle_stats::Estimate;

use crate::layout::{
    csv::{number, to_csv},
    table::{Column, Field, Table},
};
use waggle_analysis::{LevelRatiosModel, OutcomeRatios};

struct Row<'a> {
    of: &'a LevelRatiosModel,
    outcome: &'a OutcomeRatios,
    line: usize,
    level: usize,
    ratio: &'a Estimate,
}

/// The table of all factors.
#[must_use]
pub fn ratios(all: &[LevelRatiosModel]) -> String {
    let columns = vec![
        Column::words("outcome", |row: &Row<'_>| {
            Field::plain(row.outcome.column.as_str())
        }),
        Column::words("factor", |row: &Row<'_>| {
            Field::plain(row.of.factor.as_str())
        }),
        Column::words("level", |row: &Row<'_>| {
            Field::plain(row.of.levels[row.level].as_str())
        }),
        Column::words("baseline_level", |row: &Row<'_>| {
            Field::plain(row.of.levels[0].as_str())
        }),
        Column::words("at", |row: &Row<'_>| {
            Field::plain(row.of.lines[row.line].name.as_str())
        }),
        Column::numbers("ratio", |row: &Row<'_>| {
            Field::plain(number::number(row.ratio.point))
        }),
        Column::numbers("ratio_low", |row: &Row<'_>| {
            end_of_interval(row.ratio.interval.map(|(low, _)| low))
        }),
        Column::numbers("ratio_high", |row: &Row<'_>| {
            end_of_interval(row.ratio.interval.map(|(_, high)| high))
        }),
        Column::numbers("trials", |row: &Row<'_>| {
            Field::plain(row.ratio.count.to_string())
        }),
    ];
    let rows = all.iter().flat_map(rows);
    to_csv(&Table::new(
        "ratios",
        "Levels as ratios, in full",
        columns,
        rows,
    ))
}

/// Empty without an interval, or where it has no end.
fn end_of_interval(end: Option<f64>) -> Field {
    let end = end.filter(|end| end.is_finite());
    Field::plain(end.map(number::number).unwrap_or_default())
}

fn rows(model: &LevelRatiosModel) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for outcome in &model.outcomes {
        for (line, ratios) in outcome.ratios.iter().enumerate() {
            for (place, ratio) in ratios.iter().enumerate() {
                rows.extend(ratio.as_ref().map(|ratio| Row {
                    of: model,
                    outcome,
                    line,
                    level: place + 1,
                    ratio,
                }));
            }
        }
    }
    rows
}
