//! Wording: every sentence and every rounding of the reports and of the terminal is made here. Nothing is judged here.

pub mod answer;
pub mod cell;
pub mod comparisons;
pub mod conditions;
pub mod delivery;
pub mod effects;
pub mod findings;
pub mod format;
pub mod labels;
pub(crate) mod methodology;
pub(crate) mod metric;
pub mod search;
pub mod warnings;

use waggle_analysis::Model;

/// The levels of a cell by its number, for a sentence.
fn levels_of(model: &Model, cell: u32) -> String {
    let mut cells = model.cells.iter();
    let cell = cells.find(|one| one.cell == cell);
    cell.map_or_else(String::new, |cell| format::levels(&cell.levels))
}
