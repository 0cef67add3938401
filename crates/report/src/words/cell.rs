//! The verdict of a cell, also if it has none.

use super::labels;
use waggle_analysis::CellModel;

/// The verdict, and the number of trials if some are missing.
#[must_use]
pub fn verdict(cell: &CellModel) -> String {
    let none = if cell.is_searched {
        "no level holds"
    } else {
        "not run"
    };
    let word = cell.verdict.map_or(none, labels::verdict);
    if cell.ran > 0 && cell.ran < cell.planned as usize {
        format!("{word} ({} of {} trials)", cell.ran, cell.planned)
    } else {
        word.to_owned()
    }
}
