//! A row for each level but the first at each combination of the other factors' levels.

use waggle_stats::Estimate;

use crate::{
    layout::table::{Column, Field, Table},
    words::format,
};
use waggle_analysis::{LevelRatiosModel, Shown};

/// A line, and a level but the first.
struct Row<'a> {
    of: &'a LevelRatiosModel,
    line: usize,
    level: usize,
}

pub(super) fn ratios(model: &LevelRatiosModel) -> Table {
    let others = model.lines.iter().any(|line| !line.name.is_empty());
    let mut columns = vec![
        Column::words(
            format!("{}: level ÷ first", model.factor),
            |row: &Row<'_>| {
                Field::plain(format!(
                    "{} ÷ {}",
                    row.of.levels[row.level], row.of.levels[0]
                ))
            },
        )
        .into_row_name(),
    ];
    if others {
        let at_others = |row: &Row<'_>| Field::plain(row.of.lines[row.line].name.as_str());
        columns.push(Column::words("at", at_others).into_row_name());
    }
    columns.extend(model.outcomes.iter().map(|outcome| {
        Column::numbers(&outcome.name, |row: &Row<'_>| {
            let ratio = outcome.ratios[row.line][row.level - 1].as_ref();
            ratio.map_or_else(Field::empty, field)
        })
    }));
    let caption = format!(
        "{}: each level ÷ the first level ({}) of the same cell otherwise, with 95 % intervals",
        model.factor, model.levels[0]
    );
    Table {
        // Each factor has one.
        id: None,
        ..Table::new("ratios", caption, columns, rows(model))
    }
}

/// The levels of one combination one below the other; those without a value are left out.
fn rows(model: &LevelRatiosModel) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for line in 0..model.lines.len() {
        rows.extend((1..model.levels.len()).map(|level| Row {
            of: model,
            line,
            level,
        }));
    }
    rows.retain(has_ratio);
    rows
}

fn has_ratio(row: &Row<'_>) -> bool {
    let mut outcomes = row.of.outcomes.iter();
    outcomes.any(|outcome| outcome.ratios[row.line][row.level - 1].is_some())
}

fn field(ratio: &Estimate) -> Field {
    Field::plain(format::times(ratio.point))
        .with_aside(ratio.interval.map(format::ratio_ends))
        .with_shown(Shown::of_ratio(ratio, true), 1)
}
