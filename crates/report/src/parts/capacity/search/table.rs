//! Capacity search: the answer of each cell, and every level that was tried.

use waggle_analysis::{CellModel, CellSearch, Model, SearchModel, SearchStep, unit};
use waggle_spec::LevelKind;
use waggle_stats::Evidence;

use super::words::{end, fitted_levels, held_level, level, noun, shortfall};
use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::{levels, place},
    words::{
        format::{self, in_unit},
        labels,
    },
};

/// The search of one cell.
type Row<'a> = (&'a CellModel, &'a CellSearch);

/// The answers; `None` if the study has no search.
pub(crate) fn answers(model: &Model) -> Option<Table> {
    let columns = place(model, |(cell, _): &Row<'_>| *cell);
    Some(answers_at(model, model.search.as_ref()?, columns))
}

/// The same for a terminal.
pub(crate) fn answers_in_short(model: &Model) -> Option<Table> {
    let columns = levels(model, |(cell, _): &Row<'_>| *cell);
    Some(answers_at(model, model.search.as_ref()?, columns))
}

fn answers_at<'a>(
    model: &'a Model,
    search: &'a SearchModel,
    mut columns: Vec<Column<'a, Row<'a>>>,
) -> Table {
    let what = search.info.maximize;
    let shown_level =
        move |value: Option<f64>| Field::optional(value.map(|value| level(what, value)));
    columns.extend([
        Column::numbers("highest holding", move |(_, search): &Row<'_>| {
            Field::optional(held_level(what, &search.answer))
        }),
        Column::numbers("lowest failing", move |(_, search): &Row<'_>| {
            shown_level(search.answer.fails)
        }),
        Column::numbers("fitted (95 % interval)", move |(_, search): &Row<'_>| {
            Field::optional(search.answer.fitted_level().map(|fitted| {
                let (shown_level, low, high) = fitted_levels(what, fitted);
                format!("{shown_level} ({low} – {high})")
            }))
        }),
        Column::numbers("trials", |(_, search): &Row<'_>| {
            Field::plain(search.answer.trials.to_string())
        }),
        Column::words("ended by", |(_, search): &Row<'_>| {
            Field::plain(end(search.answer.end))
        }),
    ]);
    let caption = format!(
        "The highest {} at which every condition held in all of its trials, and the lowest above it that failed; fitted to all trials, the \
         level that half of them hold",
        noun(what)
    );
    Table::new("search", caption, columns, searches(model, search))
}

fn searches<'a>(model: &'a Model, search: &'a SearchModel) -> impl Iterator<Item = Row<'a>> {
    let cells = model.cells.iter();
    cells.filter_map(|cell| Some((cell, search.of_cell(cell.cell)?)))
}

/// One trial of a search.
type Tried<'a> = (&'a CellModel, &'a SearchStep);

/// Every trial with its level, in the order of execution; `None` if the study has no search.
pub(crate) fn levels_table(model: &Model) -> Option<Table> {
    let search = model.search.as_ref()?;
    let mut columns = place(model, |(cell, _): &Tried<'_>| *cell);
    columns.extend([
        Column::numbers("trial", |(_, step): &Tried<'_>| {
            Field::plain(step.key.repetition.to_string())
        }),
        Column::numbers("level", |(_, step): &Tried<'_>| {
            Field::plain(level(search.info.maximize, step.level))
        }),
    ]);
    if search.info.maximize == LevelKind::Rate {
        columns.push(Column::numbers("connections", |(_, step): &Tried<'_>| {
            Field::optional(step.tried.connections.map(format::count))
        }));
    }
    columns.extend([Column::words("evidence", |(_, step): &Tried<'_>| {
        Field::plain(labels::evidence(step.evidence)).bad_if(step.evidence == Evidence::NotMet)
    })]);
    for (place, condition) in search.info.conditions.iter().enumerate() {
        let unit = unit(&condition.metric, &model.info.metrics);
        let head = condition.metric.join(".");
        columns.push(Column::numbers(head, move |(_, step): &Tried<'_>| {
            let number = step.numbers.get(place).copied().flatten();
            Field::optional(number.map(|number| in_unit(number, unit)))
        }));
    }
    columns.push(Column::words("reason", |(_, step): &Tried<'_>| {
        let why: Vec<String> = step.why.iter().map(shortfall).collect();
        Field::plain(why.join("\n"))
    }));
    let rows = searches(model, search)
        .flat_map(|(cell, search)| search.steps.iter().map(move |step| (cell, step)));
    let caption = "Every level that was tried, in the order of execution";
    Some(Table::new("tried", caption, columns, rows).with_title("Levels tried"))
}
