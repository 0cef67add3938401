//! Limits of components, and how often they met them.

use super::words;
use crate::{
    layout::table::{Column, Field, Table},
    parts::columns::place_of_cell,
};

use waggle_analysis::{CellModel, ComponentLimits, Model};

/// A row for each cell; `None` if no component had a limit.
pub(crate) fn component_limits(model: &Model) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    for limit in model.cells.iter().flat_map(|cell| &cell.component_limits) {
        if !names.contains(&limit.component.as_str()) {
            names.push(&limit.component);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut columns = place_of_cell(model);
    for name in names {
        columns.push(Column::words(
            format!("{name}, limit"),
            move |cell: &&CellModel| {
                find(cell, name)
                    .map_or_else(Field::empty, |limit| Field::plain(words::amounts(limit)))
            },
        ));
        columns.push(Column::numbers(
            format!("{name}, throttled periods"),
            move |cell: &&CellModel| {
                let throttled = find(cell, name).and_then(|limit| limit.throttled);
                Field::share(throttled.map(|share| share.point))
            },
        ));
    }
    let table = Table::new("component-limits", words::caption(), columns, &model.cells);
    Some(table.with_title("Limits of components"))
}

fn find<'a>(cell: &'a CellModel, name: &str) -> Option<&'a ComponentLimits> {
    let mut limits = cell.component_limits.iter();
    limits.find(|limit| limit.component == name)
}
