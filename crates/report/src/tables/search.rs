//! The searches of a run: the answer of each cell, and every level that was tried.

use waggle_stats::Evidence;

use super::{Align, Field, FieldKind, Head, Table, heads, place};
use crate::{
    rows,
    text::NONE,
    wording::search::{level, noun},
    words,
};
use waggle_analysis::{CellModel, FindModel, Model};

/// The answers; `None` where nothing is searched for.
pub(crate) fn answers(model: &Model) -> Option<Table> {
    let rows = rows::search_rows(model)?;
    let mut heads = heads(model, &rows::SEARCH_COLUMNS);
    if let Some(last) = heads.last_mut() {
        last.align = Align::Left;
    }
    Some(Table {
        id: Some("search"),
        title: None,
        caption: format!(
            "The highest {} at which every condition holds, as an interval",
            noun(model.find.as_ref()?.info.what)
        ),
        heads,
        rows: model
            .cells
            .iter()
            .zip(rows)
            .map(|(cell, row)| {
                let mut fields = place(model, cell);
                fields.extend([row.holds, row.fails, row.trials, row.end].map(Field::plain));
                fields
            })
            .collect(),
    })
}

/// Every trial with its level, in the order they were made; `None` where nothing is searched for.
pub(crate) fn tried(model: &Model) -> Option<Table> {
    let find = model.find.as_ref()?;
    let mut columns = vec!["trial", "level", "conditions"];
    let numbers: Vec<String> = find
        .info
        .conditions
        .iter()
        .map(|condition| condition.number.join("."))
        .collect();
    columns.extend(numbers.iter().map(String::as_str));
    let mut heads = heads(model, &columns);
    let words = model.factors.len().max(1) + 2;
    if let Some(head) = heads.get_mut(words) {
        head.align = Align::Left;
    }
    heads.push(Head {
        text: "why not".to_owned(),
        align: Align::Left,
    });
    Some(Table {
        id: Some("tried"),
        title: Some("Levels tried"),
        caption: "Every level that was tried, in the order of the trials".to_owned(),
        heads,
        rows: model
            .cells
            .iter()
            .flat_map(|cell| of_cell(model, find, cell))
            .collect(),
    })
}

fn of_cell(model: &Model, find: &FindModel, cell: &CellModel) -> Vec<Vec<Field>> {
    let Some(search) = find.of_cell(cell.cell) else {
        return Vec::new();
    };
    let steps = search.steps.iter().map(|step| {
        let mut row = place(model, cell);
        row.push(Field::plain(step.key.repetition.to_string()));
        row.push(Field::plain(level(find.info.what, step.level)));
        row.push(Field {
            kind: match step.evidence {
                Evidence::NotMet => FieldKind::Bad,
                _ => FieldKind::Plain,
            },
            ..Field::plain(words::evidence(step.evidence))
        });
        let shown = step.shown.iter();
        row.extend(
            shown.map(|shown| Field::plain(shown.clone().unwrap_or_else(|| NONE.to_owned()))),
        );
        row.push(Field::plain(step.why.join("\n")));
        row
    });
    steps.collect()
}
