//! Wording: every sentence and every rounding of the reports and of the terminal is made here. Nothing is judged here.

pub mod answer;
pub(crate) mod artifacts;
pub(crate) mod asked_before;
pub(crate) mod best_and_worst;
pub mod causes;
pub mod cell;
pub mod compare;
pub mod comparisons;
pub mod conditions;
pub mod delivery;
pub(crate) mod derived;
mod design;
pub mod drift;
pub mod effects;
pub(crate) mod fact;
pub mod findings;
mod followed;
pub mod format;
pub mod growth;
pub mod history;
pub(crate) mod imported;
pub mod labels;
pub mod laws;
pub mod left_out;
pub mod limits;
pub(crate) mod methodology;
pub(crate) mod metric;
pub mod network;
pub mod operating_points;
pub(crate) mod pooled;
pub mod power;
pub(crate) mod preparation;
pub(crate) mod ranking;
pub mod search;
pub(crate) mod stalls;
pub(crate) mod tls;
pub(crate) mod trials_needed;
pub mod warnings;

use waggle_analysis::{CalledCell, CellGroup, CellModel, Model};

/// What a cell is called in a sentence, by its number; empty if there is none.
pub(crate) fn name_of(model: &Model, cell: u32) -> String {
    model
        .cell(cell)
        .map_or_else(String::new, |cell| cell_name(model, cell))
}

/// What a cell is called: as the study names it, or by the levels that tell it apart.
pub(crate) fn cell_name(model: &Model, cell: &CellModel) -> String {
    match &cell.name {
        Some(name) => name.clone(),
        None => format::levels(&model.telling_levels(cell)),
    }
}

/// `technology=phoenix`; `connections=10 pipelining=1; connections=50 pipelining=10`.
pub(crate) fn cell_group(group: &CellGroup) -> String {
    let cell = |cell: &CalledCell| match cell {
        CalledCell::Named(name) => name.clone(),
        CalledCell::Levels(levels) => format::levels(levels),
    };
    match group {
        CellGroup::Levels(levels) => format::levels(levels),
        CellGroup::Each(cells) => cells.iter().map(cell).collect::<Vec<_>>().join("; "),
    }
}
