//! What cells are called in sentences.

use super::format;
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
