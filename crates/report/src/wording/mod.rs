//! What the analysis found, in words: every sentence and every rounding of the project's pages and lines is made here, and nothing is
//! judged.

pub mod account;
pub mod answer;
pub mod cell;
pub mod comparisons;
pub mod conditions;
pub mod effects;
pub(crate) mod facts;
pub mod findings;
pub(crate) mod metric;
pub mod search;
pub mod text;
pub mod warnings;
pub mod words;

use waggle_analysis::Model;

/// The levels of a cell by its number, as they are named in a sentence.
fn levels_of(model: &Model, cell: u32) -> String {
    let mut cells = model.cells.iter();
    let cell = cells.find(|one| one.cell == cell);
    cell.map_or_else(String::new, |cell| text::levels(&cell.levels))
}
